import assert from "@std/assert";
import { codeOf } from "./code.ts";

const hostile = `It's "quoted" $(rm -rf /) \`x\` \\ \n</script> ${"${1}"} é漢`;
const body = {
  model: "vendor-b/gpt-4.1",
  messages: [{ role: "user", content: hostile }],
  temperature: 0.5,
};

Deno.test("pasted into a shell the command sends the very same body", async () => {
  const [curl] = codeOf("http://127.0.0.1:1", body);
  // In place of curl a program that prints what follows -d.
  const script = `curl() { while [ "$1" != -d ]; do shift; done; printf %s "$2"; }\n${curl!.text}`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), body);
});

Deno.test("the TypeScript says the very same body", () => {
  const [, typescript] = codeOf("http://127.0.0.1:1", body);
  const text = /create\(([\s\S]*)\);\nconsole/.exec(typescript!.text)?.[1] ?? "";
  assert.deepEqual(JSON.parse(text), body);
  assert.match(typescript!.text, /process\.env\.KEY/);
});

Deno.test("the Python says the very same body", () => {
  const whole = { ...body, stream: false, stop: null, metadata: { a: "None, True," } };
  const [, , python] = codeOf("http://127.0.0.1:1", whole);
  const call = /create\(([\s\S]*)\)\nprint/.exec(python!.text)?.[1] ?? "";
  // Strings of JSON are strings of Python; the rest has other words and commas at ends.
  const json = call.replace(
    /"(?:[^"\\]|\\.)*"|True|False|None|,\s*(?=[\]}]|$)|^ {4}\w+=/gm,
    (part) => {
      if (part.endsWith("=")) return `"${part.slice(4, -1)}": `;
      const words: Record<string, string> = { True: "true", False: "false", None: "null" };
      return part.startsWith(",") ? "" : words[part] ?? part;
    },
  ).replace(/\n(?="\w+": )/g, ",\n").replace(/^\s*,/, "");
  assert.deepEqual(JSON.parse(`{${json}}`), whole);
});
