import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import type { Account, AccountStore } from "../keys/account.ts";
import type { ApiKey, ApiKeyStore } from "../keys/api_key.ts";
import type { AuditEntry } from "../audit/audit.ts";
import { hashKey, looksLikeKey } from "../keys/credential.ts";
import { Fault } from "../shared/fault.ts";
import { createRegistry } from "../vendors/registry.ts";
import { type AdminDeps, helpResult, readsInput, runCommand } from "./commands.ts";

function setup(accountNames: readonly string[] = ["operator", "team"]) {
  const clock = new FakeClock();
  const accounts: Account[] = [];
  const keys: (ApiKey & { hash: string })[] = [];
  const changed: string[][] = [];
  const audit: AuditEntry[] = [];
  const noted = (entry: AuditEntry | undefined) => void (entry && audit.push(entry));
  const accountStore: AccountStore = {
    create(account, note) {
      const made = { id: accounts.length + 1, createdAt: clock.now(), ...account };
      accounts.push(made);
      noted(note?.(made));
      return Promise.resolve(made);
    },
    find: (idOrName) =>
      Promise.resolve(
        accounts.find(({ id, name }) => String(id) === idOrName || name === idOrName),
      ),
    first: () => Promise.resolve(accounts[0]),
    page: ({ after, limit }) =>
      Promise.resolve(accounts.filter(({ id }) => id > (after ?? 0)).slice(0, limit)),
    setTier(id, change, note) {
      const one = accounts.find((account) => account.id === id);
      if (!one) return Promise.resolve(undefined);
      const before = { ...one };
      noted(note?.(before, Object.assign(one, change(one))));
      return Promise.resolve(one);
    },
  };
  const apiKeys: ApiKeyStore = {
    insert(key, note) {
      const made = { createdAt: clock.now(), revokedAt: null, promptCache: true, ...key };
      keys.push(made);
      noted(note);
      return Promise.resolve(made);
    },
    named: (name, limit) =>
      Promise.resolve(keys.filter((key) => key.name === name && !key.revokedAt).slice(0, limit)),
    page(accountId, { after, limit }) {
      const found = keys.filter((key) => accountId === null || key.accountId === accountId)
        .filter(({ id }) => after === null || id > after);
      return Promise.resolve(found.slice(0, limit));
    },
    change: unused,
    revoke(id, note) {
      const key = keys.find((one) => one.id === id && one.revokedAt === null);
      if (key) key.revokedAt = clock.now();
      noted(key && note?.(key));
      return Promise.resolve(key !== undefined);
    },
    findByHash: () => Promise.reject(new Error("unused")),
    findById: (id) => Promise.resolve(principalOf(keys.find((one) => one.id === id), accounts)),
  };
  const limits = { tier: "enterprise", requestsPerMinute: 9, burst: 9 } as const;
  accountNames.forEach((name) => void accountStore.create({ name, ...limits }));
  const deps: AdminDeps = {
    accounts: accountStore,
    apiKeys,
    scopes: ["chat", "vendor-b"],
    clock,
    ...unusedDeps,
    isModel: (_account, name) => Promise.resolve(name.includes("/")),
    scrub: () =>
      Promise.resolve({ rewritten: ["replays"], notRewritten: ["backups"], isAllDone: true }),
    keysChanged: (ids) => void changed.push([...ids]),
  };
  const run = (...argv: string[]) => runCommand(deps, argv);
  return { run, parts: deps, clock, accounts, keys, changed, audit };
}

function unused(): never {
  throw new Error("unused");
}

const unusedVendorKeys = {
  set: unused,
  remove: unused,
  list: unused,
  changedSince: unused,
  rotate: unused,
};

const unusedSignIn = {
  dashboardBase: "http://127.0.0.1:8787",
  hasSignIn: true,
  signIns: { offerLink: unused },
  signInLinks: { refusal: "unused" },
};

const unusedLedger = {
  grant: unused,
  adjust: unused,
  show: unused,
  take: unused,
  release: unused,
  renew: unused,
  available: unused,
  post: unused,
  sweepExpired: unused,
  takeBack: unused,
  check: unused,
};

const unusedDeps = {
  registry: createRegistry({}, []),
  openPrices: unused,
  audit: { record: unused },
  openVirtualModels: unused,
  budgets: {} as never,
  webhooks: {} as never,
  priceVersions: { keep: unused, find: unused },
  flushRecords: unused,
  archivePrices: unused,
  vendorKeys: unusedVendorKeys,
  vendorKeysChanged: unused,
  journalStatus: unused,
  ledger: unusedLedger,
  recallCredit: unused,
  showCredit: unused,
  people: { invite: unused },
  newId: unused,
  ...unusedSignIn,
};

Deno.test("only what takes a secret reads standard input", () => {
  const reading = ["vendor-key set", "master-key rotate"];
  for (const args of [...reading, "vendor-key list", "key create", "nothing", "constructor"]) {
    assert.equal(readsInput(["--json", ...args.split(" ")]), reading.includes(args), args);
  }
});

const create = ["key", "create", "--name", "ci"];

Deno.test("key create makes a key of the first account and shows its value once", async () => {
  const { run, keys } = setup();
  const { exitCode, json, lines } = await run(...create);
  const made = json as Record<string, unknown>;
  const key = keys[0]!;
  assert.equal(exitCode, 0);
  assert.deepEqual(Object.keys(made), ["id", "key", "prefix", "name", "account_id"]);
  const value = String(made.key);
  assert.ok(looksLikeKey(value) && value.startsWith(String(made.prefix)));
  assert.deepEqual([made.id, made.name, made.account_id], [key.id, "ci", 1]);
  assert.equal(lines[0], value);
  assert.equal(key.hash, hashKey(value));
  assert.equal(JSON.stringify(keys).includes(value), false, "the value itself isn't stored");
  assert.deepEqual(
    [key.scopes, key.models, key.onDisconnect, key.translationMode, key.expiresAt],
    [[], [], "cancel", "default", null],
  );
  assert.deepEqual([key.capDayNanos, key.capMonthNanos], [null, null]);
  const listed = await run("key", "list");
  assert.equal(JSON.stringify(listed).includes(value), false, "the value isn't shown again");
});

Deno.test("a key that expires on a day is usable for the whole of it, today included", async () => {
  const { run, keys } = setup();
  assert.equal((await run(...create, "--expires", "2026-11-21")).exitCode, 0);
  assert.equal(keys[0]!.expiresAt?.toISOString(), "2026-11-22T00:00:00.000Z");
  assert.equal((await run(...create, "--expires", "2026-11-20")).exitCode, 2);
});

Deno.test("key create takes every option, --json anywhere", async () => {
  const { run, keys } = setup();
  const { exitCode } = await run(
    ...["key", "create", "--json", "--name", "ci", "--account", "team"],
    ...["--scope", "chat", "--scope", "vendor-b", "--expires", "2027-01-31T00:00:00+01:00"],
    ...["--models", "vendor-b/gpt-x", "openai/gpt-y", "--models", "vendor-f/a/b"],
    ...["--cap-day-usd", "2.50", "--cap-month-usd", "0"],
    ...["--on-disconnect", "drain", "--translation-mode", "strict"],
  );
  assert.equal(exitCode, 0);
  const { accountId, scopes, models, onDisconnect, translationMode, ...rest } = keys[0]!;
  assert.deepEqual([accountId, scopes], [2, ["chat", "vendor-b"]]);
  assert.deepEqual(models, ["vendor-b/gpt-x", "openai/gpt-y", "vendor-f/a/b"]);
  assert.deepEqual([onDisconnect, translationMode], ["drain", "strict"]);
  assert.deepEqual([rest.capDayNanos, rest.capMonthNanos], [2_500_000_000n, 0n]);
  assert.equal(rest.expiresAt?.toISOString(), "2027-01-30T23:00:00.000Z");
});

const unknownScope: [string[], RegExp][] = [
  [[], /^Unknown command ''\.$/],
  [["key"], /^Unknown command 'key'\./],
  [["key", "make"], /^Unknown command 'key make'\./],
  [["key", "craete"], /^Unknown command 'key craete'\. Did you mean 'key create'\?$/],
  [["kee", "create"], /^Unknown command 'kee create'\. Did you mean 'key create'\?$/],
  [["acounts", "lst"], /^Unknown command 'acounts lst'\. Did you mean 'account list'\?$/],
  [["account"], /^Unknown command 'account'\. Commands of 'account': create, tier, list\.$/],
  [["account", "--help"], /^Unknown command 'account'\. Commands of 'account': /],
  [["migrat"], /^Unknown command 'migrat'\. Did you mean 'migrate'\?$/],
  [["constructor"], /^Unknown command 'constructor'\.$/],
  [["--frob"], /^Unknown command '--frob'\./],
  [
    [...create, "--models", "vendor-b/gpt-x", "vendor-b/gpt-x,openai/gpt-y"],
    /^--models vendor-b\/gpt-x,openai\/gpt-y: expected names separated by spaces$/,
  ],
  [[...create, "--models", "vendor-b/gpt-x vendor-b/gpt-y"], /^--models: no model has the name/],
  [["key", "create"], /--name is missing/],
  [["key", "create", "--name", "  "], /--name is missing/],
  [["key", "create", "--name", "x".repeat(201)], /--name: at most 200 characters/],
  [
    [...create, "--colour", "red"],
    /^Unknown option '--colour' of 'key create'\.$/,
  ],
  [
    [...create, "--cap-dya-usd", "2"],
    /^Unknown option '--cap-dya-usd' .* Did you mean '--cap-day-usd'\?/,
  ],
  [["key", "create", "--name"], /^--name needs a value$/],
  [["key", "create", "--name", "--json", "--account", "x"], /^--name needs a value$/],
  [[...create, "--cap-day-usd", "5", "--cap-day-usd=50"], /^--cap-day-usd is set twice$/],
  [["reprice", "--dry-run=yes"], /^--dry-run takes no value$/],
  [["credits", "grant", "--usd", "-5"], /^--usd -5: expected an amount above 0/],
  [[...create, "--cap-day-usd", "-1.5"], /^--cap-day-usd -1\.5: expected an amount/],
  [[...create, "stray"], /^unexpected 'stray'$/],
  [
    [...create, "--scope", "everything"],
    /^--scope everything: expected one of chat, openai \(vendor-b\)/,
  ],
  [
    [...create, "--scope", "openai,status"],
    /^--scope openai,status: expected one scope; repeat --scope/,
  ],
  [[...create, "--on-disconnect", "maybe"], /^--on-disconnect maybe: expected cancel or drain/],
  [[...create, "--translation-mode", "x"], /^--translation-mode x: expected strict or lenient/],
  [[...create, "--cap-day-usd", "a lot"], /^--cap-day-usd a lot: expected an amount/],
  [[...create, "--cap-day-usd", "1e3"], /^--cap-day-usd 1e3: expected an amount/],
  [[...create, "--cap-month-usd=-1"], /^--cap-month-usd -1: expected an amount/],
  [[...create, "--cap-month-usd", "0.0000000001"], /^--cap-month-usd /],
  [[...create, "--expires", "tomorrow"], /^--expires tomorrow: expected a day such as/],
  [[...create, "--expires", "2027-01-31T00:00:00"], /^--expires .*expected a day such as/],
  [[...create, "--expires", "2027-13-31T00:00:00Z"], /^--expires .*expected a day such as/],
  [[...create, "--expires", "2020-01-31T00:00:00Z"], /^--expires .*expected a time in the future/],
  [["key", "revoke"], /^ID\|NAME is missing$/],
  [["key", "revoke", "a", "b"], /^unexpected 'b'$/],
  [["key", "list", "more"], /^unexpected 'more'$/],
  [["account", "create"], /--name is missing/],
  [["account", "create", "--name", "42"], /digits alone/],
  [["account", "list", "--name", "x"], /^Unknown option '--name' of 'account list'\.$/],
];
for (const [argv, message] of unknownScope) {
  Deno.test(`'${argv.join(" ").slice(0, 70)}' is wrong usage: exit 2, and changes nothing`, async () => {
    const { run, keys, accounts, changed } = setup();
    const { exitCode, json, lines } = await run(...argv);
    assert.equal(exitCode, 2);
    assert.match((json as { error: string }).error, message);
    assert.match(lines.join("\n"), message);
    assert.deepEqual([keys.length, accounts.length, changed.length], [0, 2, 0]);
  });
}

const failing: [string[], RegExp][] = [
  [[...create, "--account", "nobody"], /^No account has the id or name 'nobody'/],
  [["key", "list", "--account", "9"], /^No account has the id or name '9'/],
  [
    ["key", "revoke", "no-such-id"],
    /^No key has the id 'no-such-id', and no usable key has that name\./,
  ],
  [["account", "create", "--name", "team"], /^An account named 'team' exists already/],
];
for (const [argv, message] of failing) {
  Deno.test(`'${argv.join(" ")}' can't be done: exit 1`, async () => {
    const { run, keys, accounts } = setup();
    const { exitCode, lines } = await run(...argv);
    assert.equal(exitCode, 1);
    assert.match(lines[0]!, message);
    assert.deepEqual([keys.length, accounts.length], [0, 2]);
  });
}

Deno.test("before the first start there is no account to make a key for: exit 1", async () => {
  const { exitCode, lines } = await setup([]).run(...create);
  assert.equal(exitCode, 1);
  assert.match(lines[0]!, /start the service once/);
});

Deno.test("a store that is away ends a command with exit 1, never with a throw", async () => {
  const { parts: deps } = setup();
  const page = () => Promise.reject(new Fault("store_unavailable"));
  const { exitCode } = await runCommand({ ...deps, accounts: { ...deps.accounts, page } }, [
    "account",
    "list",
  ]);
  assert.equal(exitCode, 1);
});

Deno.test("of many keys with one name, some are shown", async () => {
  const { run, keys } = setup();
  for (let made = 0; made < 30; made++) await run(...create);
  const { exitCode, lines } = await run("key", "revoke", "ci");
  assert.equal(exitCode, 1);
  assert.match(lines[0]!, /^More than 20 keys have the name 'ci': use an id, /);
  assert.equal(lines[0]!.match(/…\)/g)?.length, 20);
  assert.ok(keys.every(({ revokedAt }) => revokedAt === null));
});

Deno.test("an account is named by id or by name", async () => {
  const { run, keys } = setup();
  await run(...create, "--account", "2");
  await run(...create, "--account", "team");
  await run(...create, "--account", "operator");
  assert.deepEqual(keys.map(({ accountId }) => accountId), [2, 2, 1]);
  const { json } = await run("key", "list", "--account", "team");
  assert.deepEqual((json as { id: string }[]).map(({ id }) => id), [keys[0]?.id, keys[1]?.id]);
});

Deno.test("key revoke revokes once, notifies the cache each time, and says whether it was revoked before", async () => {
  const { run, keys, changed } = setup();
  await run(...create);
  const id = keys[0]!.id;
  const first = await run("key", "revoke", id);
  assert.deepEqual([first.exitCode, first.json], [0, { id, revoked: true }]);
  assert.ok(keys[0]?.revokedAt);
  const second = await run("key", "revoke", id);
  assert.deepEqual([second.exitCode, second.json], [0, { id, revoked: true }]);
  assert.match(second.lines[0]!, /was already revoked/);
  assert.deepEqual(changed, [[id], [id]]);
});

Deno.test("a scope may be named as people know the vendor, and a slip names the scope", async () => {
  const { run, keys } = setup();
  await run(...create, "--scope", "openai", "--scope", "chat");
  assert.deepEqual(keys[0]!.scopes, ["vendor-b", "chat"]);
  const slip = await run(...create, "--scope", "opneai");
  assert.deepEqual([slip.exitCode, keys.length], [2, 1]);
  assert.match(slip.lines[0]!, /Did you mean 'openai'\?$/);
  // A vendor without a scope here stays unknown.
  assert.equal((await run(...create, "--scope", "anthropic")).exitCode, 2);
});

Deno.test("key revoke takes a name that one usable key alone has", async () => {
  const { run, keys } = setup();
  for (const name of ["ci", "app", "app"]) await run("key", "create", "--name", name);
  assert.equal((await run("key", "revoke", "ci")).exitCode, 0);
  assert.ok(keys[0]!.revokedAt);
  const several = await run("key", "revoke", "app");
  assert.equal(several.exitCode, 1);
  for (const { id } of keys.slice(1)) assert.ok(several.lines[0]!.includes(id));
  assert.deepEqual(keys.map(({ revokedAt }) => revokedAt === null), [false, true, true]);
  await run("key", "revoke", keys[1]!.id);
  assert.equal((await run("key", "revoke", "app")).exitCode, 0, "one of them is left");
  const again = await run("key", "revoke", "ci");
  assert.deepEqual([again.exitCode, again.lines], [1, [
    "No key has the id 'ci', and no usable key has that name.",
  ]]);
});

Deno.test("key list shows what a key is and whether it is usable, never its hash", async () => {
  const { run, clock } = setup();
  await run("key", "create", "--name", "fine");
  const { json } = await run("key", "create", "--name", "gone");
  await run("key", "create", "--name", "old", "--expires", "2026-11-21t00:00:01z");
  await run("key", "revoke", (json as { id: string }).id);
  clock.advance(1000);
  const listed = await run("key", "list");
  const states = listed.lines.map((line) => line.split("  ").slice(2).join(", "));
  assert.deepEqual(states, [
    "fine, account 1, usable",
    "gone, account 1, revoked 2026-11-21T00:00:00.000Z",
    "old, account 1, expired 2026-11-21T00:00:01.000Z",
  ]);
  assert.deepEqual(Object.keys((listed.json as object[])[0]!), [
    ...["id", "prefix", "name", "account_id", "scopes", "models", "on_disconnect"],
    ...["translation_mode", "prompt_cache", "cache_ttl_seconds", "record"],
    ...["for", "app", "default_model", "map", "expected_output_tokens"],
    ...["created_at", "expires_at", "revoked_at"],
  ]);
});

Deno.test("a key's own app has a name that tags and budgets can have", async () => {
  const { run, keys } = setup();
  const create = (app: string) => run("key", "create", "--name", "shop", "--app", app);
  const longest = "x".repeat(256);
  for (const [app, name] of [[" shop ", "shop"], [` ${longest}`, longest]] as const) {
    assert.equal((await create(app)).exitCode, 0);
    assert.equal(keys.at(-1)?.defaults?.app, name);
  }
  for (const wrong of [" ", "x".repeat(257), "a\tb", "a\nb"]) {
    const { exitCode, lines } = await create(wrong);
    assert.equal(exitCode, 2);
    assert.match(lines.join("\n"), /--app: expected one line of 1 to 256 characters/);
  }
});

Deno.test("account create makes a free account without more; account list shows all", async () => {
  const { run, accounts } = setup();
  const made = await run("account", "create", "--name", " new ");
  assert.deepEqual([made.exitCode, made.json], [0, { id: 3, name: "new", tier: "free" }]);
  assert.deepEqual([accounts[2]?.requestsPerMinute, accounts[2]?.burst], [60, 100]);
  const { json, lines } = await run("account", "list");
  assert.deepEqual((json as { name: string }[]).map(({ name }) => name), [
    "operator",
    "team",
    "new",
  ]);
  assert.equal(lines[2], "3  new  free");
});

Deno.test("the usage names every command", () => {
  for (
    const args of [
      "key create",
      "key list",
      "key revoke",
      "account create",
      "vendor-key set",
      "master-key rotate",
      "migrate",
      "database copy",
    ]
  ) {
    assert.ok(helpResult([], "admin")!.lines.some((line) => line.startsWith(`  ${args} `)), args);
  }
});

Deno.test("scrub says what it rewrote and where erased text may be left", async () => {
  const { run } = setup();
  const result = await run("scrub", "--json");
  assert.equal(result.exitCode, 0);
  assert.deepEqual(result.json, { rewritten: ["replays"], not_rewritten: ["backups"] });
  assert.match(result.lines.join("\n"), /Rewritten: replays\.\nNot rewritten.*backups/);
  assert.equal((await run("scrub", "all")).exitCode, 2);
});

function principalOf(key: ApiKey | undefined, [account]: Account[]) {
  return key && account && { key, account };
}

Deno.test("what changes an account is noted in its audit log, without the key", async () => {
  const { run, audit } = setup();
  const made = await run("key", "create", "--name", "ci");
  const { id, key, prefix } = made.json as { id: string; key: string; prefix: string };
  await run("key", "revoke", id);
  await run("key", "list");
  await run("key", "create");
  await run("account", "tier", "team", "pro");
  await run("account", "tier", "team", "enterprise", "--rpm", "5", "--burst", "6");
  const [pro, enterprise] = ["600 a minute, burst 1000", "5 a minute, burst 6"];
  assert.deepEqual(
    audit.map(({ action, subject, detail, actor }) => [action, subject, detail, actor.name]),
    [
      [
        "api_key.created",
        "ci",
        `${prefix}…; scopes: all but admin; models: all; cap a day: none; cap a month: none; ends: never`,
        "command line",
      ],
      ["api_key.revoked", "ci", `${prefix}…`, "command line"],
      [
        "account.tier_changed",
        "pro",
        `${pro}; was enterprise: 9 a minute, burst 9`,
        "command line",
      ],
      ["account.tier_changed", "enterprise", `${enterprise}; was pro: ${pro}`, "command line"],
    ],
  );
  assert.ok(!JSON.stringify(audit).includes(key));
});
