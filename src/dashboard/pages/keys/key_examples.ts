import { codeOf } from "../playground/code.ts";

/** The base path in examples for keys that may call models of every vendor. */
export const unifiedBase = "/v1";

/** An example of a first call with a key. */
export interface ExampleCall {
  /** Base path for a client library: `unifiedBase`, or a vendor's own. */
  base: string;
  model: string;
}

/** The models that examples can name. */
export interface ExampleModels {
  /** A model that a call below `unifiedBase` can name, with the vendor's common name. */
  anyModel: () => string | undefined;
  /** A model's id with the vendor's common name: `openai/gpt-5-mini` for `vendor-b/gpt-5-mini`. */
  shown: (id: string) => string;
  /** A vendor's path names and one of its models; undefined if its paths take no chat calls. */
  ofVendor: (label: string) => { names: readonly string[]; model: string | undefined } | undefined;
}

/** GET requests that scopes allow, for keys that can't call a model in the chat dialect. */
const questions: readonly (readonly [scope: string, path: string])[] = [
  ["status", "/api/v1/status"],
  ["exports", "/api/v1/exports"],
  ["evals", "/api/v1/evals"],
];

/** Returns the path of a GET request that a key may make; undefined if its scopes allow none. */
export function exampleQuestion(
  { scopes }: { scopes: readonly string[] },
  isVendor: (scope: string) => boolean,
): string | undefined {
  const question = questions.find(([scope]) => scopes.length === 0 || scopes.includes(scope));
  if (question) return question[1];
  const vendor = scopes.find(isVendor);
  return vendor === undefined ? undefined : `/${vendor}/v1/models`;
}

/** Returns the example that fits a key's scopes and models; undefined if no chat call does. */
export function exampleCall(
  { scopes, models }: { scopes: readonly string[]; models: readonly string[] },
  callable: ExampleModels,
): ExampleCall | undefined {
  if (scopes.length === 0 || scopes.includes("chat")) {
    const model = models[0] ?? callable.anyModel();
    return model === undefined ? undefined : { base: unifiedBase, model: callable.shown(model) };
  }
  for (const scope of scopes) {
    const vendor = callable.ofVendor(scope);
    if (!vendor) continue;
    const prefixes = [scope, ...vendor.names].map((name) => `${name}/`);
    const own = models.flatMap((model) => {
      const prefix = prefixes.find((one) => model.startsWith(one));
      return prefix === undefined ? [] : [model.slice(prefix.length)];
    });
    const model = models.length === 0 ? vendor.model : own[0];
    if (model !== undefined) return { base: `/${vendor.names[0] ?? scope}/v1`, model };
  }
  return undefined;
}

/** Returns the example as code in several languages; none if the key has no example. */
export function exampleSnippets(
  baseUrl: string,
  key: string,
  { call, question }: { call: ExampleCall | undefined; question: string | undefined },
): { title: string; text: string }[] {
  if (!call) {
    if (question === undefined) return [];
    const address = baseUrl + question;
    return [
      { title: "curl", text: `curl ${address} \\\n  -H 'Authorization: Bearer ${key}'` },
      { title: "Python", text: questionPython(address, key) },
    ];
  }
  const body = { model: call.model, messages: [{ role: "user", content: "Say hello." }] };
  return codeOf(baseUrl + call.base, body, key);
}

function questionPython(address: string, key: string): string {
  return `import json, urllib.request

request = urllib.request.Request(
    "${address}",
    headers={"Authorization": "Bearer ${key}"},
)
print(json.load(urllib.request.urlopen(request)))`;
}
