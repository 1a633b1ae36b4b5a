import assert from "@std/assert";
import { commandForms, helpResult } from "./commands.ts";
import { findCommand, parseCommand } from "./command_line.ts";
import { optionText } from "./option_texts.ts";

const names = Object.keys(commandForms);

for (const [name, form] of Object.entries(commandForms)) {
  Deno.test(`'${name}' explains itself, each option and an example that it takes`, () => {
    const { usage, summary = "", options = {}, example = "" } = form;
    assert.match(summary, /^[A-Z].*\.$/, "a sentence");
    assert.ok(usage.startsWith(name));
    for (const [option, spec] of Object.entries(options)) {
      assert.match(optionText(spec, option) ?? "", /^[A-Z].*\.$/, `a sentence on --${option}`);
      assert.ok(usage.includes(`--${option}`), `the usage has --${option}`);
    }
    for (const [, option = ""] of usage.matchAll(/--([\w-]+)/g)) {
      assert.ok(Object.hasOwn(options, option), `--${option} of the usage is an option`);
    }
    const words = example.split(" ");
    assert.equal(findCommand(commandForms, words)?.name, name, "the example is of this command");
    if (name === "help") return;
    parseCommand(name, form, words.slice(name.split(" ").length));
    const help = helpResult([...name.split(" "), "--help"])!;
    assert.equal(help.exitCode, 0);
    const text = help.lines.join("\n");
    const shown = [summary, usage, example, ...Object.keys(options)];
    for (const one of shown) assert.ok(text.includes(one), one);
    for (const line of help.lines) assert.ok(line.length < 120 || line.startsWith("usage:"), line);
  });
}

Deno.test("help, --help and -h answer at each level, with --json as one value", () => {
  for (const argv of [["help"], ["--help"], ["-h"], ["--json", "help"]]) {
    const { exitCode, json, lines } = helpResult(argv)!;
    assert.equal(exitCode, 0);
    const text = lines.join("\n");
    for (const name of names) assert.match(text, new RegExp(`^  ${name} .*\\.$`, "m"));
    assert.deepEqual(json, { help: text });
  }
  const group = helpResult(["key", "--help"])!.lines.join("\n");
  assert.match(group, /^ {2}key create /m);
  assert.doesNotMatch(group, /^ {2}account /m);
  for (
    const argv of [["help", "key", "create"], ["key", "-h", "create"], ["key", "create", "-h"]]
  ) {
    assert.match(helpResult(argv)!.lines[0]!, /^Makes an API key/);
  }
});

Deno.test("help about what isn't there is wrong usage and names the nearest", () => {
  const { exitCode, lines } = helpResult(["help", "key", "crate"])!;
  assert.equal(exitCode, 2);
  assert.equal(lines[0], "Unknown command 'key crate'. Did you mean 'key create'?");
});

Deno.test("other words ask for no help", () => {
  for (const argv of [[], ["key", "list"], ["helpme"], ["key", "create", "--name", "help"]]) {
    assert.equal(helpResult(argv), undefined);
  }
});
