/** The call as programs would make it: in place of the key stands the variable that holds it. */
export function codeOf(baseUrl: string, body: Readonly<Record<string, unknown>>) {
  const address = `${baseUrl}/chat/v1`;
  return [
    { title: "curl", text: curl(address, body) },
    { title: "TypeScript", text: typescript(address, body) },
    { title: "Python", text: python(address, body) },
  ];
}

type Body = Readonly<Record<string, unknown>>;

function curl(address: string, body: Body): string {
  // A single quote ends the text for the shell; the next one begins it again.
  const json = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return [
    `curl ${address}/chat/completions`,
    `  -H "Authorization: Bearer $KEY"`,
    "  -H 'Content-Type: application/json'",
    `  -d '${json}'`,
  ].join(" \\\n");
}

function typescript(address: string, body: Body): string {
  return `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${JSON.stringify(address)},
  apiKey: process.env.KEY,
});
const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
console.log(answer.choices[0].message.content);`;
}

function python(address: string, body: Body): string {
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${literal(value)},`);
  return `import os
from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(address)},
    api_key=os.environ["KEY"],
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
