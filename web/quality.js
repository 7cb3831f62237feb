// What `inlay validate` found about the model that is served, or that nobody has asked it.

const percent = share => `${(share * 100).toFixed(2)} %`;

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function figure(name, value) {
  const made = element("span", "figure", "");
  made.append(element("b", "", value), ` ${name}`);
  return made;
}

export function showQuality(parent, { served_model_name: model, model_dtype: dtype, validation }) {
  const title = element("h2", "", `Quality of ${model} in ${dtype}`);
  if (!validation) {
    const smaller = dtype.startsWith("int");
    parent.replaceChildren(title, element("p", "hint", smaller
      ? "No validation report lies beside the weights. inlay validate makes one from your texts."
      : "No validation report: this precision needs none."));
    return;
  }
  const { passed, stale, texts, p99, recall_5_loss: loss, recall_5_loss_by_language: languages, reasons, created } = validation;
  const line = element("p", "figures", "");
  line.append(element("span", `state ${passed && !stale ? "good" : "bad"}`, passed ? "suited" : "not suited"));
  line.append(figure(`P99 of the cosine distance to ${validation.reference_dtype}, over ${texts} texts`, p99.toFixed(5)));
  if (loss !== null) line.append(figure("of Recall@5 lost", percent(loss)));
  for (const [language, lost] of Object.entries(languages)) line.append(figure(`lost in ${language}`, percent(lost)));
  const notes = [...reasons, ...(stale ? ["The report was made of other weights: run inlay validate again."] : [])];
  parent.replaceChildren(title, line, element("p", "hint", [...notes, created].join(" · ")));
}
