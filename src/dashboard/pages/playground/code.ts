/**
 * The call as programs would make it, below an address. Without a `key` the variable `KEY` of the
 * environment stands in its place.
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
  // A single quote ends the text for the shell; the next one begins it again.
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

/** A JSON value as Python writes it; strings in JSON are strings there too. */
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
