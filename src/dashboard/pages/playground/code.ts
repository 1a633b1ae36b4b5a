/**
 * Returns code that makes the call, in several languages; `address` is the base URL. Without a
 * `key` the code reads it from the environment variable `KEY`.
 */
export function codeOf(address: string, body: Body, key?: string) {
  return [
    { title: "curl", text: curl(address, body, key) },
    { title: "TypeScript", text: typescript(address, body, key) },
    { title: "Python", text: python(address, body, key) },
  ];
}

type Body = Readonly<Record<string, unknown>>;

function curl(address: string, body: Body, key: string | undefined): string {
  // In the shell a single quote ends the text, `\'` is a quote, and the next one resumes the text.
  const json = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return [
    `curl ${address}/chat/completions`,
    `  -H ${key === undefined ? '"Authorization: Bearer $KEY"' : `'Authorization: Bearer ${key}'`}`,
    "  -H 'Content-Type: application/json'",
    `  -d '${json}'`,
  ].join(" \\\n");
}

function typescript(address: string, body: Body, key: string | undefined): string {
  return `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${JSON.stringify(address)},
  apiKey: ${JSON.stringify(key) ?? "process.env.KEY"},
});
const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
console.log(answer.choices[0].message.content);`;
}

function python(address: string, body: Body, key: string | undefined): string {
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${literal(value)},`);
  return `${key === undefined ? "import os\n" : ""}from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(address)},
    api_key=${JSON.stringify(key) ?? 'os.environ["KEY"]'},
)
answer = client.chat.completions.create(
${fields.join("\n")}
)
print(answer.choices[0].message.content)`;
}

/** Writes a JSON value as a Python literal; JSON's strings are valid in Python, too. */
function literal(value: unknown, indent = "    "): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  const deeper = `${indent}    `;
  if (Array.isArray(value)) {
    const items = value.map((one) => `${deeper}${literal(one, deeper)},\n`).join("");
    return value.length === 0 ? "[]" : `[\n${items}${indent}]`;
  }
  if (typeof value === "object") {
    const items = Object.entries(value).map(([name, one]) =>
      `${JSON.stringify(name)}: ${literal(one, deeper)}`
    );
    return `{${items.join(", ")}}`;
  }
  return JSON.stringify(value);
}
