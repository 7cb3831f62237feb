// Embeds the texts of the page and shows their tokens, their vectors and their similarity.
import { ask } from "./server.js";

const by = id => document.getElementById(id);
const make = (name, className, text) => {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};

const dot = (a, b) => a.reduce((total, value, i) => total + value * b[i], 0);
const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b) || 1);

function showMatrix(texts, vectors) {
  const table = make("table"), head = make("tr");
  head.append(make("th", "name"), ...texts.map((_, i) => make("th", "", String(i + 1))));
  const rows = texts.map((text, i) => {
    const row = make("tr"), name = make("th", "name", `${i + 1}  ${text}`);
    name.title = text;
    row.append(name, ...vectors.map((vector, k) => {
      const value = cosine(vectors[i], vector);
      const cell = make("td", "", value.toFixed(2).replace("-0.00", "0.00"));
      cell.style.background = `rgba(var(--heat), ${(Math.max(0, value) ** 1.5 * 0.85).toFixed(3)})`;
      cell.title = `${texts[i]}\n${texts[k]}`;
      return cell;
    }));
    return row;
  });
  const tableHead = make("thead"), tableBody = make("tbody");
  tableHead.append(head);
  tableBody.append(...rows);
  table.append(tableHead, tableBody);
  by("matrix").replaceChildren(table);
}

// One column a number: warm above zero, cold below.
function drawVector(vector) {
  const canvas = make("canvas", "vector");
  canvas.width = vector.length;
  canvas.height = 1;
  canvas.title = `${vector.length} numbers, from ${Math.min(...vector).toFixed(3)} to ${Math.max(...vector).toFixed(3)}`;
  const pen = canvas.getContext("2d");
  const scale = Math.max(...vector.map(Math.abs)) || 1;
  vector.forEach((value, i) => {
    const strength = Math.sqrt(Math.abs(value) / scale);
    pen.fillStyle = value > 0 ? `rgba(208, 138, 29, ${strength})` : `rgba(31, 111, 160, ${strength})`;
    pen.fillRect(i, 0, 1, 1);
  });
  return canvas;
}

function showRows(tokens, vectors) {
  by("tokens").replaceChildren(...vectors.map((vector, i) => {
    const row = make("div", "row"), pieces = make("div");
    for (const token of tokens[i]) {
      const piece = make("span", token.special ? "token special" : "token", token.text);
      piece.title = `id ${token.id}`;
      pieces.append(piece);
    }
    row.append(make("span", "number", String(i + 1)), pieces, drawVector(vector));
    return row;
  }));
}

function outcome(text, bad = false) {
  by("outcome").textContent = text;
  by("outcome").className = bad ? "hint bad" : "hint";
}

async function embed() {
  const texts = by("texts").value.split("\n").map(text => text.trim()).filter(Boolean).slice(0, 24);
  if (texts.length === 0) return outcome("Write a text first.", true);
  const model = by("model").value, prompt = by("prompt").value, dimensions = Number(by("dimensions").value);
  const fields = { model, ...(prompt && { prompt_name: prompt }) };
  by("embed").disabled = true;
  try {
    const begin = performance.now();
    const answer = await ask("/v1/embeddings", { input: texts, ...fields, ...(dimensions && { dimensions }) });
    const time = performance.now() - begin;
    const tokens = await ask("/tokenize", { inputs: texts, ...fields });
    const vectors = answer.data.map(item => item.embedding);
    showMatrix(texts, vectors);
    showRows(tokens, vectors);
    outcome(`${texts.length} texts, ${answer.usage.prompt_tokens} tokens, ${vectors[0].length} dimensions in ${time.toFixed(1)} ms`);
  } catch (error) {
    outcome(error.message, true);
  } finally {
    by("embed").disabled = false;
  }
}

export function startPlayground() {
  by("embed").addEventListener("click", embed);
  by("texts").addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) embed();
  });
  return embed();
}
