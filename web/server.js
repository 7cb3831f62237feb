// Talks to the server that this page came from. The API key, where one is wanted, stays in this tab.

let key = sessionStorage.getItem("inlay-key") ?? "";

export function setKey(value) {
  key = value;
  sessionStorage.setItem("inlay-key", value);
}

async function request(path, options) {
  const response = await fetch(path, { ...options, headers: { ...(key && { Authorization: `Bearer ${key}` }) } });
  if (response.status === 401) document.getElementById("key-box").hidden = false;
  if (!response.ok) {
    const text = await response.text();
    let said = text;
    try {
      const error = JSON.parse(text).error;
      said = error?.message ?? error ?? text;
    } catch { /* Not JSON: shown as it is. */ }
    throw new Error(said || `${path}: status ${response.status}`);
  }
  return response;
}

export const read = async path => (await request(path)).text();
export const readJson = async path => (await request(path)).json();
export const ask = async (path, body) => (await request(path, { method: "POST", body: JSON.stringify(body) })).json();
