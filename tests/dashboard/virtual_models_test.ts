import assert from "@std/assert";
import { csrfIn } from "../support/browser_client.ts";
import { shared } from "../support/service.ts";
import { signIn, startDashboard } from "./world.ts";

const models = "/dashboard/settings/models";
const people = "/dashboard/settings/people";

const world = shared(async () => {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(path, '{"ours": {"targets": ["grok-4.3"]}}');
  const started = await startDashboard({ vendors: true, env: { MODELS_FILE: path } });
  const stop = async () => {
    await started.stop();
    await Deno.remove(path);
  };
  return { ...started, stop };
});

const list = async () => (await world().admin("model", "list")).json as Record<string, unknown>[];

async function called(model: string): Promise<[number, string | null]> {
  const answer = await world().post("/chat/v1/chat/completions", {
    ...{ model, messages: [{ role: "user", content: "rivers" }] },
  });
  await answer.body?.cancel();
  const id = answer.headers.get("x-transaction-id");
  return [answer.status, id && `${(await world().row(id)).model}`];
}

Deno.test("the list shows the service's, which no form changes", async () => {
  const owner = await world().owner();
  const { text } = await owner.get(models);
  assert.match(text, /<code>ours<\/code>/);
  assert.match(text, /The service&#39;s/);
  assert.ok(!text.includes("name=ours"));
  for (const kind of ["change", "remove"]) {
    assert.equal((await owner.get(`${models}/${kind}?name=ours`)).status, 404);
    const csrf = csrfIn(text);
    const posted = await owner.post(`${models}/${kind}`, {
      csrf,
      name: "ours",
      targets: "gpt-4.1",
    });
    assert.equal(posted.status, 404);
  }
});

Deno.test("the playground offers them beside the vendors' models", async () => {
  const { text } = await (await world().owner()).get("/dashboard/playground");
  assert.match(text, /<optgroup label="Virtual models"><option value="ours" ?>/);
});

Deno.test("an owner makes, changes and removes one without a script, and calls go by it at once", async () => {
  const owner = await world().owner();
  const made = await owner.submit(`${models}/new`, `${models}/new`, {
    ...{ name: "fast:1", targets: "gpt-4.1 9\r\nclaude-sonnet-4-6\r\n", stick_by: "session" },
    fallbacks: "gemini-2.5-flash\r\n",
  });
  assert.equal(made.location, models);
  const shown = (await owner.get(models)).text;
  assert.match(shown, /Calls to fast:1 go to its targets/);
  assert.match(shown, /gpt-4\.1 <span class="muted nowrap">90 %<\/span>/);
  const { created_at: _, updated_at: __, ...json } = (await list()).find(({ name }) =>
    name === "fast:1"
  )!;
  assert.deepEqual(json, {
    account_id: 1,
    name: "fast:1",
    targets: [{ model: "gpt-4.1", weight: 9 }, { model: "claude-sonnet-4-6", weight: 1 }],
    fallbacks: ["gemini-2.5-flash"],
    stick_by: "session",
  });
  assert.equal((await called("fast:1"))[0], 200);

  const change = `${models}/change?name=${encodeURIComponent("fast:1")}`;
  const form = (await owner.get(change)).text;
  assert.match(form, />gpt-4\.1 9\nclaude-sonnet-4-6 1<\/textarea>/);
  assert.match(form, /<option value="session" selected>/);
  const unknown = await owner.post(change, { ...hiddenIn(form), targets: "no-such-model" });
  assert.match(unknown.text, /id="targets-error">Line 1: /);
  const changed = await owner.post(change, {
    ...{ ...hiddenIn(unknown.text), targets: "grok-4.3", fallbacks: "", stick_by: "" },
  });
  assert.equal(changed.location, models);
  assert.deepEqual(await called("fast:1"), [200, "grok-4.3"]);

  const remove = `${models}/remove?name=${encodeURIComponent("fast:1")}`;
  assert.match((await owner.get(remove)).text, /<code>fast:1<\/code>/);
  assert.equal(
    (await owner.submit(remove, remove, {})).location,
    models,
  );
  assert.deepEqual(await called("fast:1"), [404, null]);
  assert.equal((await owner.get(change)).status, 404);

  const audit = (await owner.get("/dashboard/settings/audit")).text;
  assert.equal(audit.match(/virtual_model\.set/g)?.length, 2);
  assert.equal(audit.match(/virtual_model\.removed/g)?.length, 1);
  assert.match(audit, /gpt-4\.1, claude-sonnet-4-6/);
});

/** The main form's hidden fields, as a browser sends them. */
function hiddenIn(text: string): Record<string, string> {
  const form = text.slice(text.indexOf('class="form"'));
  const fields = form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g);
  return Object.fromEntries(Array.from(fields, ([, name, value]) => [name!, value!]));
}

const wrong: [string, Record<string, string>, string, RegExp][] = [
  ["no name", { name: "", targets: "gpt-4.1" }, "name", /is not a name/],
  ["a name with a slash", { name: "a/b", targets: "gpt-4.1" }, "name", /is not a name/],
  ["no targets", { name: "w", targets: "" }, "targets", /Expected a list of 1 to 20 targets/],
  [
    "an unknown model",
    { name: "w", targets: "gpt-4.1\r\n\r\ngpt-4.1\r\n gpt-41" },
    "targets",
    /Line 4: .*Did you mean/,
  ],
  [
    "a weight of 0",
    { name: "w", targets: "gpt-4.1 0" },
    "targets",
    /Line 1: Expected a whole number/,
  ],
  [
    "a weight that is no number",
    { name: "w", targets: "gpt-4.1 x" },
    "targets",
    /Line 1: Expected a whole number/,
  ],
  [
    "a target as a fallback",
    { name: "w", targets: "gpt-4.1", fallbacks: "grok-4.3\nopenai/gpt-4.1" },
    "fallbacks",
    /Line 2: .*already/,
  ],
  [
    "a stickiness that isn't there",
    { name: "w", targets: "gpt-4.1", stick_by: "ip" },
    "stick_by",
    /./,
  ],
  ["markup", { name: "w", targets: "<script>canary()</script>" }, "targets", /&lt;script&gt;/],
];
for (const [what, fields, field, message] of wrong) {
  Deno.test(`a form with ${what} comes back as it was sent, with the reason at its field`, async () => {
    const owner = await world().owner();
    const sent = await owner.submit(`${models}/new`, `${models}/new`, fields);
    assert.equal(sent.status, 400);
    const error = new RegExp(`<p class="error" id="${field}-error">([^<]*)</p>`).exec(sent.text);
    assert.match(error?.[1] ?? "no error", message);
    assert.ok(!sent.text.includes("<script>canary"));
    assert.ok((await list()).every(({ name }) => name !== fields.name));
  });
}

Deno.test("a form says at once what is wrong with each field", async () => {
  const owner = await world().owner();
  const made = { name: "at-once", targets: "gpt-4.1" };
  assert.equal((await owner.submit(`${models}/new`, `${models}/new`, made)).status, 303);
  const reasons = async (fields: Record<string, string>) => {
    const { status, text } = await owner.submit(`${models}/new`, `${models}/new`, fields);
    assert.equal(status, 400);
    return Array.from(
      text.matchAll(/<p class="error" id="(\w+)-error">([^<]{1,30})/g),
      ([, field, reason]) => `${field}: ${reason}`,
    );
  };
  const wrongLists = { targets: "gpt-4.1 x", fallbacks: "grok-4.3\ngpt-41" };
  const ofLists = [
    "targets: Line 1: Expected a whole numbe",
    "fallbacks: Line 2: Unknown model &#39;gpt",
  ];
  assert.deepEqual(await reasons({ name: "a/b", ...wrongLists }), [
    ...["name: &#39;a/b&#39; is not a name; e", ...ofLists],
  ]);
  assert.deepEqual(await reasons({ name: "at-once", ...wrongLists }), [
    ...["name: A virtual model of this name a", ...ofLists],
  ]);
  const tooMany = Array.from({ length: 21 }, (_, at) => `model-${at}`).join("\n");
  assert.deepEqual(await reasons({ name: "new", targets: "gpt-41", fallbacks: tooMany }), [
    "targets: Line 1: Unknown model &#39;gpt",
    "fallbacks: Expected a list of at most 20 ",
  ]);
});

Deno.test("a name that is there already is not made over again", async () => {
  const owner = await world().owner();
  const make = (targets: string) =>
    owner.submit(`${models}/new`, `${models}/new`, { name: "twice", targets });
  assert.equal((await make("gpt-4.1")).status, 303);
  const again = await make("grok-4.3");
  assert.equal(again.status, 400);
  assert.match(again.text, /A virtual model of this name already exists/);
  assert.deepEqual(await called("twice"), [200, "gpt-4.1"]);
});

Deno.test("of two owners who change one at a time, the second sees what the first saved", async () => {
  const owner = await world().owner();
  const change = `${models}/change?name=both`;
  await owner.submit(`${models}/new`, `${models}/new`, { name: "both", targets: "gpt-4.1" });
  const opened = hiddenIn((await owner.get(change)).text);
  const first = { targets: "grok-4.3 3", fallbacks: "gpt-4.1", stick_by: "user" };
  assert.equal((await owner.post(change, { ...opened, ...first })).location, models);

  const second = { targets: "claude-sonnet-4-6", fallbacks: "", stick_by: "" };
  const refused = await owner.post(change, { ...opened, ...second });
  assert.equal(refused.status, 400);
  assert.match(
    refused.text,
    /role="alert">Nothing is saved: .* targets: grok-4\.3 3; fallbacks: gpt-4\.1; same target for: End user\. Save again to replace that\.</,
  );
  assert.match(refused.text, />claude-sonnet-4-6<\/textarea>/);
  assert.deepEqual(await called("both"), [200, "grok-4.3"]);

  const again = await owner.post(change, { ...hiddenIn(refused.text), ...second });
  assert.equal(again.location, models);
  assert.deepEqual(await called("both"), [200, "claude-sonnet-4-6"]);
});

Deno.test("one that was removed since its form was opened is offered as a new one, with what was typed", async () => {
  const owner = await world().owner();
  const change = `${models}/change?name=gone`;
  const remove = `${models}/remove?name=gone`;
  await owner.submit(`${models}/new`, `${models}/new`, { name: "gone", targets: "gpt-4.1" });
  const opened = hiddenIn((await owner.get(change)).text);
  await owner.submit(remove, remove, {});
  const typed = { targets: "grok-4.3 3", fallbacks: "gpt-4.1", stick_by: "user" };
  const refused = await owner.post(change, { ...opened, ...typed });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /role="alert">Nothing is saved: .* was removed/);
  assert.match(refused.text, />grok-4\.3 3<\/textarea>/);
  assert.match(refused.text, />gpt-4\.1<\/textarea>/);
  assert.match(refused.text, /<option value="user" selected>/);
  assert.deepEqual(await called("gone"), [404, null]);

  const [, name = ""] = /id="name"[^>]* value="([^"]*)"/.exec(refused.text) ?? [];
  const [, action = ""] = /action="([^"]*)" class="form"/.exec(refused.text) ?? [];
  const again = await owner.post(action, { ...hiddenIn(refused.text), name, ...typed });
  assert.equal(again.location, models);
  assert.deepEqual(await called("gone"), [200, "grok-4.3"]);
});

Deno.test("viewers and members see them and change nothing; another account's are not there", async () => {
  const owner = await world().owner();
  await owner.submit(`${models}/new`, `${models}/new`, { name: "seen", targets: "gpt-4.1" });
  await owner.submit(people, `${people}/invite`, { email: "ben@example.com", role: "member" });
  const token = /invitation\?token=([^<]+)</.exec((await owner.get(people)).text)?.[1];
  world().provider.become("Ben", "ben@example.com");
  const ben = world().browser();
  await signIn(ben, `invitation=${token}`);
  const { text } = await ben.get(models);
  assert.match(text, /<code>seen<\/code>/);
  assert.ok(!/models\/(new|change|remove)/.test(text));
  const csrf = csrfIn(text);
  for (const kind of ["new", "change", "remove"]) {
    assert.equal((await ben.get(`${models}/${kind}?name=seen`)).status, 403);
    const fields = { csrf, name: "seen", targets: "grok-4.3" };
    assert.equal((await ben.post(`${models}/${kind}`, fields)).status, 403);
  }
  assert.deepEqual(await called("seen"), [200, "gpt-4.1"]);
});
