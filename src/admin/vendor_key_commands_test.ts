import assert from "@std/assert";
import { parseArgs } from "node:util";
import { type AuditNote, commandLine } from "../audit/audit.ts";
import { FakeClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import type { Account } from "../keys/account.ts";
import { MasterKey } from "../keys/sealing.ts";
import { lastFourOf, type StoredVendorKey } from "../keys/vendor_key.ts";
import { createRegistry } from "../vendors/registry.ts";
import { type CommandResult, UsageError } from "./command.ts";
import { vendorKeyCommands, type VendorKeyDeps } from "./vendor_key_commands.ts";

const at = new Date("2026-11-21T00:00:00Z");

function setup() {
  const accounts = ["operator", "team"].map((name, index): Account => ({
    id: index + 1,
    name,
    tier: "free",
    requestsPerMinute: 1,
    burst: 1,
    createdAt: at,
  }));
  const stored: (StoredVendorKey & { value: Secret })[] = [];
  const rotations: MasterKey[] = [];
  const notes: (AuditNote | undefined)[] = [];
  const told: string[] = [];
  const deps: VendorKeyDeps = {
    accounts: {
      first: () => Promise.resolve(accounts[0]),
      find: (name) =>
        Promise.resolve(accounts.find((one) => one.name === name || String(one.id) === name)),
    },
    clock: new FakeClock(),
    registry: createRegistry({}, []),
    vendorKeys: {
      set(accountId, vendor, value) {
        const lastFour = lastFourOf(value);
        const key = { accountId, vendor, lastFour, createdAt: at, changedAt: at };
        stored.push({ ...key, value });
        return Promise.resolve(key);
      },
      remove(accountId, vendor) {
        const index = stored.findIndex((one) =>
          one.accountId === accountId && one.vendor === vendor
        );
        return Promise.resolve(index !== -1 && stored.splice(index, 1).length === 1);
      },
      list: (accountId) =>
        Promise.resolve(
          stored.filter((one) => accountId === undefined || one.accountId === accountId),
        ),
      changedSince: () => Promise.reject(new Error("unused")),
      rotate(next, audit) {
        const already = rotations.at(-1)?.fingerprint === next.fingerprint;
        if (!already) notes.push(audit?.(stored.length));
        rotations.push(next);
        return Promise.resolve({
          resealed: already ? 0 : stored.length,
          already,
          source: "environment",
        });
      },
    },
    vendorKeysChanged: () => Promise.resolve(void told.push("told")),
  };
  const run = (words: string, input = "") => runCommand(deps, words.split(" "), input);
  return { run, stored, rotations, notes, told };
}

function runCommand(deps: VendorKeyDeps, argv: string[], input: string): Promise<CommandResult> {
  const command = vendorKeyCommands[argv.slice(0, 2).join(" ")];
  if (!command) throw new Error(`no command ${argv}`);
  const { values } = parseArgs({ args: argv.slice(2), options: command.options });
  return command.run(deps, values, [], input);
}

const value = "sk-canary-0123456789-wxyz";

Deno.test("a key is stored from standard input; neither form of the answer shows it", async () => {
  const { run, stored, told } = setup();
  const result = await run("vendor-key set --vendor vendor-b", `${value}\n`);
  assert.deepEqual(result.json, { account_id: 1, vendor: "vendor-b", last_four: "wxyz" });
  assert.deepEqual(result.lines, [
    "Calls of account 'operator' to vendor-b use the key …wxyz from now on.",
  ]);
  assert.equal(stored[0]?.value.reveal(), value);
  assert.deepEqual(told, ["told"], "this process goes by it at once");
});

Deno.test("each of the four vendors may be named by label or alias, for any account", async () => {
  const { run, stored } = setup();
  const names = ["vendor-a", "openai", "anthropic", "google"];
  for (const name of names) {
    await run(`vendor-key set --vendor ${name} --account team`, `${value}${name}`);
  }
  assert.deepEqual(stored.map(({ accountId, vendor }) => `${accountId} ${vendor}`), [
    ...["2 vendor-a", "2 vendor-b", "2 vendor-c", "2 vendor-d"],
  ]);
});

const wrong: [string, string, RegExp][] = [
  ["vendor-key set", value, /--vendor is missing/],
  ["vendor-key set --vendor vendor-b", "", /standard input: the vendor key is missing/],
  ["vendor-key set --vendor vendor-b", `${value}\nsecond line`, /standard input: .*line breaks/],
  ["vendor-key set --vendor vendor-f", value, /--vendor: keys of vendor-f can't be stored: .*one/],
  ["vendor-key set --vendor xai", value, /--vendor: keys of vendor-g can't be stored/],
  ["vendor-key set --vendor gemini", value, /--vendor: vendor-e uses the key .* for vendor-d/],
  [`vendor-key set --vendor ${value}`, "", /--vendor: expected one of huggingface \(vendor-a\), /],
  ["vendor-key remove --vendor vendor-f", "", /--vendor: keys of vendor-f can't be stored/],
  ["master-key rotate", value, /standard input: expected 32 bytes in base64/],
  ["master-key rotate", "", /standard input: expected 32 bytes in base64.*openssl rand -base64 32/],
];
for (const [words, input, message] of wrong) {
  Deno.test(`'${words.replace(value, "A-KEY")}' with ${input.length} characters of input is wrong usage, and doesn't repeat a key`, async () => {
    const { run, stored, rotations, told } = setup();
    await assert.rejects(run(words, input), (thrown: unknown) => {
      assert.ok(thrown instanceof UsageError);
      assert.match(String(thrown), message);
      return !String(thrown).includes("canary");
    });
    assert.deepEqual([stored.length, rotations.length, told.length], [0, 0, 0]);
  });
}

Deno.test("no key can be stored for an unknown account", async () => {
  const { run, stored } = setup();
  const setting = run("vendor-key set --vendor vendor-b --account nobody", value);
  await assert.rejects(setting, /No account has the id or name 'nobody'/);
  assert.equal(stored.length, 0);
});

Deno.test("a list shows whose key it is, of which vendor and its end, never the value", async () => {
  const { run } = setup();
  await run("vendor-key set --vendor vendor-b", value);
  await run("vendor-key set --vendor vendor-c --account team", "short-key");
  const all = await run("vendor-key list");
  assert.deepEqual(all.lines, [
    "account 1  vendor-b  …wxyz  2026-11-21T00:00:00.000Z",
    "account 2  vendor-c  …  2026-11-21T00:00:00.000Z",
  ]);
  assert.ok(!/canary|short-key/.test(JSON.stringify(all)));
  const team = await run("vendor-key list --account team");
  assert.deepEqual(team.json, [{
    account_id: 2,
    vendor: "vendor-c",
    last_four: "",
    created_at: at.toISOString(),
    changed_at: at.toISOString(),
  }]);
});

Deno.test("a key is removed once; what isn't there is exit 1", async () => {
  const { run, told } = setup();
  await run("vendor-key set --vendor vendor-b", value);
  const first = await run("vendor-key remove --vendor openai");
  const json = { account_id: 1, vendor: "vendor-b", removed: true };
  assert.deepEqual([first.exitCode, first.json], [0, json]);
  const second = await run("vendor-key remove --vendor openai");
  assert.deepEqual([second.exitCode, second.json], [1, { ...json, removed: false }]);
  assert.equal(told.length, 3);
});

Deno.test("a rotation says what it did and what is left to do, without the key", async () => {
  const { run, rotations, notes } = setup();
  await run("vendor-key set --vendor vendor-b", value);
  const next = MasterKey.generate();
  const text = next.text().reveal();
  const first = await run("master-key rotate", `${text}\n`);
  assert.equal(rotations[0]?.fingerprint, next.fingerprint);
  assert.deepEqual(first.json, { resealed: 1, already: false, source: "environment" });
  assert.match(
    first.lines.join("\n"),
    /^1 vendor key is now encrypted with the new .*\nSet MASTER_KEY/,
  );
  const again = await run("master-key rotate", text);
  assert.deepEqual([again.exitCode, again.json], [0, {
    resealed: 0,
    already: true,
    source: "environment",
  }]);
  const made = { accountId: 1, actor: commandLine, action: "master_key.rotated", subject: "" };
  assert.deepEqual(notes.map((note) => ({ ...note, at })), [
    { ...made, detail: "values re-encrypted: 1", at },
  ]);
  assert.ok(!JSON.stringify([first, again, notes]).includes(text));
});

Deno.test("the example of 'master-key rotate' has its key from where somebody can read it again", () => {
  const { input } = vendorKeyCommands["master-key rotate"]!;
  assert.match(input!.example, /^cat /);
});
