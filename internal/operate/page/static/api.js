// Requests to the admin API. Paths are below that of the page.

// An APIError is what the API has refused, with its remedy.
export class APIError extends Error {}

async function request(method, path, body, headers = {}) {
  const options = { method, headers: { ...headers }, cache: "no-store" };
  if (method !== "GET") {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body ?? {});
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new APIError("The node does not answer.");
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new APIError(answer?.error ?? `The node answers with status ${response.status}.`);
  return answer;
}

export const get = (path) => request("GET", path);
export const post = (path, body) => request("POST", path, body);

// A change is {method, path, body, query}. preview returns what it would do.
export const preview = (change) => request(change.method, address(change, { dry_run: "true" }), change.body);

// carryOut does a change, if the version of the rules is still the expected one.
export function carryOut(change, author, version) {
  const headers = version === undefined ? {} : { "If-Match": `"${version}"` };
  return request(change.method, address(change, author ? { author } : {}), change.body, headers);
}

function address(change, more) {
  const query = new URLSearchParams({ ...change.query, ...more }).toString();
  return change.path + (query && "?" + query);
}

export const zonePath = (zone, resource) => `zones/${encodeURIComponent(zone)}/${resource}`;

// keyOf returns the members of an answer that name its key, for a request. A key that is shown shortened
// is named by its hash.
export function keyOf(k) {
  if (k.key_shortened && k.key_hash) return { key_hash: k.key_hash };
  const key = {};
  for (const name of ["key", "key_base64", "key_stored", "missing"]) if (k[name]) key[name] = k[name];
  return key;
}
