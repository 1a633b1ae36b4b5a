import assert from "@std/assert";
import { commandForms, helpResult, seeHelp } from "./commands.ts";
import { findCommand, parseCommand } from "./command_line.ts";
import { optionText } from "./option_texts.ts";

const names = Object.keys(commandForms);
const helpOn = (argv: readonly string[]) => helpResult(argv, "./demeter admin");

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
    const help = helpOn([...name.split(" "), "--help"])!;
    assert.equal(help.exitCode, 0);
    const text = help.lines.join("\n");
    const shown = [summary, example, ...Object.keys(options)];
    for (const one of shown) assert.ok(text.includes(one), one);
    const flowing = text.replaceAll(/\n +/g, " ");
    assert.ok(flowing.includes(`usage: ./demeter admin ${usage}\n`), "the whole usage");
    for (const line of help.lines) assert.ok(line.length < 120, line);
    assert.deepEqual(seeHelp(["--json", ...words], "./demeter admin"), [
      `See './demeter admin help ${name}'.`,
    ]);
  });
}

Deno.test("help, --help and -h answer at each level, with --json as one value", () => {
  for (const argv of [["help"], ["--help"], ["-h"], ["--json", "help"]]) {
    const { exitCode, json, lines } = helpOn(argv)!;
    assert.equal(exitCode, 0);
    const text = lines.join("\n");
    for (const name of names) assert.match(text, new RegExp(`^  ${name} .*\\.$`, "m"));
    assert.deepEqual(json, { help: text });
  }
  const group = helpOn(["key", "--help"])!.lines.join("\n");
  assert.match(group, /^ {2}key create /m);
  assert.doesNotMatch(group, /^ {2}account /m);
  for (
    const argv of [["help", "key", "create"], ["key", "-h", "create"], ["key", "create", "-h"]]
  ) {
    assert.match(helpOn(argv)!.lines[0]!, /^Creates an API key/);
  }
});

Deno.test("help says whether a command without --account is for the first account or for all", () => {
  const ofAll = [
    "key list",
    "vendor-key list",
    "model list",
    "budget list",
    "webhook list",
    "reprice",
  ];
  for (const [name, { options }] of Object.entries(commandForms)) {
    if (!options || !Object.hasOwn(options, "account")) continue;
    const { lines } = helpOn([...name.split(" "), "--help"])!;
    const expected = ofAll.includes(name)
      ? "all accounts if absent"
      : "the first account if absent";
    assert.ok(lines.some((line) => /--account A/.test(line) && line.includes(expected)), name);
  }
});

Deno.test("help gives the reason for standard input where the value is a secret", () => {
  for (const [name, { input }] of Object.entries(commandForms)) {
    const text = helpOn([...name.split(" "), "--help"])!.lines.join("\n");
    const isSecret = ["vendor-key set", "master-key rotate"].includes(name);
    assert.equal(text.includes("visible to everyone on the machine"), isSecret, name);
    assert.equal(text.includes("from standard input"), input !== undefined, name);
  }
});

Deno.test("help about what isn't there is wrong usage and names the nearest", () => {
  const { exitCode, lines } = helpOn(["help", "key", "crate"])!;
  assert.equal(exitCode, 2);
  assert.equal(lines[0], "Unknown command 'key crate'. Did you mean 'key create'?");
});

Deno.test("words of a command ask for no help", () => {
  for (const argv of [["key", "list"], ["key", "create", "--name", "help"], ["migrate", "x"]]) {
    assert.equal(helpOn(argv), undefined);
  }
});

Deno.test("words that name no command are wrong usage: one line, or the group that they name", () => {
  const said = (...argv: string[]) => {
    const { exitCode, lines, json } = helpOn(argv)!;
    assert.equal(exitCode, 2);
    assert.match((json as { error: string }).error, /^(no command|Unknown command )/);
    return lines;
  };
  const see = "See './demeter admin help'.";
  const seeKeys = "See './demeter admin help key'.";
  assert.deepEqual(said("key", "craete"), [
    ...["Unknown command 'key craete'. Did you mean 'key create'?", seeKeys],
  ]);
  assert.deepEqual(said("webhook", "subscribe"), [
    ...["Unknown command 'webhook subscribe'.", "See './demeter admin help webhook'."],
  ]);
  assert.deepEqual(said("kye"), ["Unknown command 'kye'. Did you mean 'key'?", see]);
  assert.deepEqual(said("--frob"), ["Unknown command '--frob'.", see]);
  assert.deepEqual(helpOn(["key"])!.json, {
    error: "Unknown command 'key'. Commands of 'key': create, list, revoke.",
  });
  assert.match(said("key").join("\n"), /^usage: \.\/demeter admin COMMAND[^]*\n {2}key create /);
  assert.match(said().join("\n"), /^usage: \.\/demeter admin COMMAND[^]*\n {2}account list /);
});

Deno.test("the list of all has commands of one subject together", () => {
  const lines = helpOn(["help"])!.lines.flatMap((line) => /^ {2}([\w-]+)/.exec(line)?.[1] ?? []);
  const subjects = lines.filter((one, at) => one !== lines[at - 1]);
  assert.equal(new Set(subjects).size, subjects.length, subjects.join(" "));
});
