import assert from "@std/assert";
import type { TestService } from "../../support/service.ts";
import { untilStored } from "../../support/until_admitted.ts";
import type { Behaviour, VendorRequest } from "../../faults/whole_calls/vendor.ts";
import { checkAccount } from "./check.ts";
import { AccountModel, boundNanos, costNanos, type Limit, type ModelCall } from "./model.ts";
import type { BudgetStep, CallStep, Step } from "./steps.ts";
import { askUntilAnswered, type World } from "./world.ts";

const patienceMs = 60_000;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
export const usd = (nanos: bigint) => {
  const text = String(nanos < 0n ? -nanos : nanos).padStart(10, "0");
  return `${nanos < 0n ? "-" : ""}${text.slice(0, -9)}.${text.slice(-9)}`;
};

const plain = { kind: "answer", waitMs: 0, dripMs: 0, early: false } as const;
/** More than any account has. */
const allNanos = 10_000_000_000n;
const nameOf = ({ vendor, model }: VendorRequest) => `${vendor}/${model}`;

/** What a call sends. */
type Sent = Pick<CallStep, "model" | "fallback" | "user" | "app" | "stream">;

/** Histories played so far, so that each has names of its own. */
let played = 0;

/** Plays the steps on a new account and compares it with the model; throws where they differ. */
export async function playSteps(world: World, steps: readonly Step[]): Promise<void> {
  const history = new AccountHistory(world, ++played);
  await history.open();
  for (const [at, step] of steps.entries()) {
    try {
      await history.step(step);
    } catch (thrown) {
      throw new Error(`at step ${at}`, { cause: thrown });
    }
  }
  await history.check();
}

/** One account: what was done to it, and what it must have. */
export class AccountHistory {
  readonly model = new AccountModel();
  readonly credits: { readonly note: string; readonly nanos: bigint }[] = [];
  readonly budgets = new Map<string, { readonly on: string; readonly per: string; id: string }>();
  accountId = 0;
  key = { id: "", key: "" };
  #names = 0;
  /** How often a user was erased. */
  readonly #erasures = new Map<string, number>();

  constructor(readonly world: World, readonly number: number) {}

  async open(): Promise<void> {
    const { admin } = this.world;
    const made = await admin<{ id: number }>("POST", "/api/v1/admin/accounts", {
      name: `account ${this.number}`,
    });
    this.accountId = made.id;
    const rates = { tier: "enterprise", rpm: 1_000_000, burst: 1_000_000 };
    await admin("PATCH", `/api/v1/admin/accounts/${made.id}`, rates);
    await this.#newKey();
  }

  async step(step: Step): Promise<void> {
    switch (step.do) {
      case "call":
        return await this.#calls(step);
      case "cached":
        return await this.#cached(step.text, this.#service(step.service));
      case "background":
        return await this.#background(this.#service(step.service), step.cancels);
      case "eval":
        return await this.#evaluate(this.#service(step.service), step.which, step.model);
      case "grant":
      case "deduct":
        return await this.#credit(step.do, step.nanos, step.times);
      case "cap":
        return await this.#cap(step.per, step.nanos);
      case "budget":
        return await this.#budget(step);
      case "remove budget":
        return await this.#removeBudget(step.which);
      case "replace key":
        return await this.#replaceKey();
      case "turn":
        return this.world.turn(step.per);
      case "reprice":
        return await this.#reprice(step.table);
      case "erase":
        return await this.#erase(step.which);
      case "erase user":
        return await this.#eraseUser(step.user);
      case "check":
        return await this.check();
    }
  }

  check(): Promise<void> {
    return checkAccount(this);
  }

  /** Has all processes store the calls that they have answered. */
  async flush(): Promise<void> {
    for (const { rows } of this.world.services) await rows({}, this.key.key);
  }

  #service(number: number): TestService {
    return this.world.services[number % this.world.services.length]!;
  }

  #name(): string {
    return `${this.number}-${++this.#names}`;
  }

  #marker(): string {
    return `mark-${this.number}-own-${++this.#names}`;
  }

  async #newKey(): Promise<void> {
    const caps = { cap_day_usd: "1", cap_month_usd: "1" };
    this.key = await this.world.admin("POST", "/api/v1/admin/keys", {
      ...{ name: this.#name(), account_id: this.accountId },
      ...caps,
    });
    for (const per of ["day", "month"] as const) this.#limitKey(per, 1_000_000_000n);
  }

  #limitKey(per: "day" | "month", nanos: bigint): void {
    const { id } = this.key;
    const counts: Limit["counts"] = ({ keyId }) => keyId === id;
    this.model.setLimit(
      `cap per ${per} of ${id}`,
      nanos,
      { per, counts, seesErased: true },
      this.world.now(),
    );
  }

  async #calls(step: CallStep): Promise<void> {
    const service = this.#service(step.service);
    const calls = Array.from({ length: step.count }, () => this.#marker());
    const failing: Behaviour = { kind: "error", status: 500 };
    const isHeld = step.meanwhile !== "nothing";
    const held = Promise.withResolvers<void>();
    const answer: Behaviour = { ...plain, ...isHeld ? { until: held.promise } : {} };
    for (const marker of calls) {
      const failures = Array.from({ length: step.failures }, () => failing);
      this.world.vendors.script(marker, [...failures, answer]);
    }
    const at = this.world.now();
    const asked = calls.map((marker) => this.#call(service, step, marker, at));
    let comesAfter = async () => {};
    if (isHeld) {
      await this.#untilSent(calls, asked);
      comesAfter = await this.#meanwhile(step).finally(held.resolve);
    }
    const outcomes = await Promise.all(asked);
    await comesAfter();
    assert.deepEqual(this.model.overspent(at), [], "more was charged than there was");
    for (let left = step.repeats; left > 0; left--) {
      for (const marker of calls) await this.#repeat(this.#service(left + 1), step, marker);
    }
    if (step.insists && outcomes.includes("refused")) await this.#insist(service, step);
  }

  /** Until each of the calls is at a vendor, or over. */
  async #untilSent(markers: readonly string[], asked: readonly Promise<unknown>[]): Promise<void> {
    const sent = new Set<string>();
    for (const [at, one] of asked.entries()) {
      one.finally(() => sent.add(markers[at]!)).catch(() => {});
    }
    const { requests } = this.world.vendors;
    const deadline = performance.now() + patienceMs;
    for (let read = requests.length; sent.size < markers.length; await pause(2)) {
      for (; read < requests.length; read++) sent.add(requests[read]!.marker);
      assert.ok(performance.now() < deadline, "a call neither ends nor is sent to a vendor");
    }
  }

  /** Returns what is left to do after the calls. */
  async #meanwhile({ meanwhile, service, user }: CallStep): Promise<() => Promise<void>> {
    const nothing = async () => {};
    switch (meanwhile) {
      case "nothing":
        return nothing;
      case "day":
      case "month":
        this.world.turn(meanwhile);
        return nothing;
      case "cut":
        await this.world.cut();
        return nothing;
      case "replace key":
        await this.#replaceKey();
        return nothing;
      case "reprice":
        await this.#reprice(service % 2);
        return nothing;
      case "erase user":
        await this.#eraseUser(user);
        return nothing;
      case "take back":
        await this.#credit("deduct", allNanos, 1);
        return async () => {
          await this.#credit("grant", allNanos, 1);
          this.model.grantedNanos -= allNanos;
          this.model.deductedNanos -= allNanos;
        };
    }
  }

  async #call(
    service: TestService,
    step: Sent,
    marker: string,
    at: Date,
  ): Promise<"answered" | "refused" | "failed"> {
    const { user, app } = step;
    const { id: keyId } = this.key;
    const erasures = this.#erasures.get(user);
    const answer = await this.#ask(service, step, marker);
    const text = await answer.text();
    if (answer.status === 402) return "refused";
    // The key may have been replaced.
    if (answer.status === 401 && keyId !== this.key.id) return "failed";
    if (answer.status !== 200) {
      assert.ok(answer.status >= 500, `${answer.status} ${text}`);
      return "failed";
    }
    const model = this.#modelOf(marker);
    const call = this.#noteCall({ id: idOf(answer), marker, model, user, app, at, keyId });
    if (this.#erasures.get(user) !== erasures) call.isErased = true;
    const charged = answer.headers.get("x-charged-usd");
    if (charged !== null) assert.equal(charged, usd(call.chargedNanos), "as the caller is told");
    return "answered";
  }

  #ask(
    service: TestService,
    { model, fallback, user, app, stream }: Sent,
    marker: string,
  ): Promise<Response> {
    const tag = app === undefined ? "" : `/// APP ${app}\n`;
    return service.post("/chat/v1/chat/completions", {
      ...{ model, stream, user, max_tokens: 60 },
      messages: [{ role: "user", content: `${tag}Say ${marker} please.` }],
    }, {
      authorization: `Bearer ${this.key.key}`,
      "x-request-id": marker,
      ...fallback === undefined ? {} : { "x-fallback-models": fallback },
    });
  }

  /** The model that answered. */
  #modelOf(marker: string): string {
    const answered = this.world.vendors.requests.filter((one) =>
      one.marker === marker && one.complete
    );
    assert.equal(answered.length, 1, `vendors answered ${marker} once`);
    return nameOf(answered[0]!);
  }

  #noteCall(
    call:
      & Pick<ModelCall, "id" | "marker" | "model" | "user" | "at">
      & Partial<Pick<ModelCall, "keyId" | "app" | "isFree" | "sourceId">>,
  ): ModelCall {
    const noted: ModelCall = {
      ...{ keyId: this.key.id, app: undefined, isFree: false, sourceId: undefined, ...call },
      chargedNanos: call.isFree ? 0n : costNanos(call, 0),
      isErased: false,
    };
    this.model.calls.push(noted);
    return noted;
  }

  /** The same request again: the same answer, or, if that was lost, another one free of charge. */
  async #repeat(service: TestService, step: CallStep, marker: string): Promise<void> {
    const first = this.model.calls.find((call) => call.marker === marker && !call.isErased);
    if (!first || first.keyId !== this.key.id) return;
    const at = this.world.now();
    const answer = await this.#ask(service, step, marker);
    await answer.text();
    if (answer.status !== 200) {
      return assert.ok(
        [402, 409].includes(answer.status) || answer.status >= 500,
        `${answer.status}`,
      );
    }
    if (answer.headers.get("x-idempotent-replay") === "true") {
      return assert.equal(idOf(answer), first.id, "the answer of the first");
    }
    const last = this.world.vendors.requests.findLast((one) => one.marker === marker)!;
    const { user, app } = step;
    const more = { marker, model: nameOf(last), user, app, at, isFree: true };
    this.#noteCall({ id: idOf(answer), ...more });
  }

  /** What other processes hold idle comes back, so that a call that is paid for is answered. */
  async #insist(service: TestService, step: CallStep): Promise<void> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const at = this.world.now();
      const { user, app } = step;
      if (this.model.leftNanos({ keyId: this.key.id, user, app, at }) < boundNanos) return;
      const marker = this.#marker();
      if (await this.#call(service, step, marker, at) === "answered") return;
      assert.ok(performance.now() < deadline, "refused, although there is credit");
      await pause(200);
    }
  }

  async #cached(text: number, service: TestService): Promise<void> {
    const marker = `mark-${this.number}-shared-${text}`;
    const { requests } = this.world.vendors;
    const before = requests.filter((one) => one.marker === marker).length;
    const at = this.world.now();
    const user = "user-1";
    const answer = await service.post("/chat/v1/chat/completions", {
      ...{ model: "vendor-b/gpt-4.1", user, max_tokens: 60 },
      messages: [{ role: "user", content: `Say ${marker} please.` }],
    }, { authorization: `Bearer ${this.key.key}`, "x-cache-ttl": "600" });
    await answer.text();
    if (answer.status !== 200) return assert.ok(answer.status === 402 || answer.status >= 500);
    const isFree = requests.filter((one) => one.marker === marker).length === before;
    this.#noteCall({ id: idOf(answer), marker, model: "vendor-b/gpt-4.1", user, at, isFree });
  }

  /**
   * A call that goes on without its caller. What is cancelled costs nothing: before it ends, this
   * vendor says nothing of what it has produced.
   */
  async #background(service: TestService, cancels: boolean): Promise<void> {
    const [marker, at, user] = [this.#marker(), this.world.now(), "user-2"];
    this.world.vendors.script(marker, [{ ...plain, waitMs: cancels ? 10 * patienceMs : 0 }]);
    const headers = { authorization: `Bearer ${this.key.key}` };
    const answer = await service.post("/chat/v1/responses", {
      ...{ model: "vendor-b/gpt-4.1", background: true, safety_identifier: user },
      ...{ max_output_tokens: 60, input: `Say ${marker} please.` },
    }, headers);
    const text = await answer.text();
    if (answer.status !== 200) {
      return assert.ok(answer.status === 402 || answer.status >= 500, text);
    }
    const { id } = JSON.parse(text) as { id: string };
    if (cancels) await this.#cancel(id, marker);
    // An evaluation may repeat the call.
    this.world.vendors.script(marker, [plain]);
    const status = await this.#endOf(service, `/chat/v1/responses/${id}`, "status");
    assert.match(status, cancels ? /cancelled|failed/ : /completed|failed/);
    const call = { id: idOf(answer), marker, model: "vendor-b/gpt-4.1", user, at };
    if (status === "completed") this.#noteCall(call);
    if (status !== "cancelled") return;
    this.#noteCall({ ...call, isFree: true });
    await this.#untilThere(call.id);
  }

  /** Half of the time, of the process that doesn't make the call. */
  async #cancel(id: string, marker: string): Promise<void> {
    const ask = (method: string, path: string) =>
      askUntilAnswered<{ status: string }>(
        this.#service(this.#names),
        this.key.key,
        { method, path: `/chat/v1/responses/${id}${path}` },
      );
    const { requests } = this.world.vendors;
    const deadline = performance.now() + patienceMs;
    while (!requests.some((one) => one.marker === marker)) {
      if ((await ask("GET", "")).status === "failed") return;
      assert.ok(performance.now() < deadline, "a background call isn't begun");
      await pause(10);
    }
    await ask("POST", "/cancel");
  }

  /** The last state of what goes on in the background. */
  async #endOf(service: TestService, path: string, field: "status" | "state"): Promise<string> {
    for (const deadline = performance.now() + patienceMs;;) {
      const found = await askUntilAnswered<Record<string, unknown>>(
        ...[service, this.key.key, { method: "GET", path }] as const,
      );
      if (!/queued|in_progress|running/.test(String(found[field])) || found.waiting) {
        return found.waiting ? "waiting" : String(found[field]);
      }
      assert.ok(performance.now() < deadline, `${path} is still ${found[field]}`);
      await pause(20);
    }
  }

  /** Until the row of a call is there, which may be recorded after its caller heard of its end. */
  async #untilThere(id: string): Promise<void> {
    for (const deadline = performance.now() + patienceMs;;) {
      const rows = await this.world.services.at(-1)!.rows({ transaction_id: id }, this.key.key);
      if (rows.length > 0) return;
      await this.flush();
      assert.ok(performance.now() < deadline, `${id} has no row`);
      await pause(50);
    }
  }

  /** A call of the gateway's own, which repeats a stored one and is paid as any other. */
  async #evaluate(service: TestService, which: number, model: string): Promise<void> {
    const source = this.#there(which);
    if (!source) return;
    await this.flush();
    const at = this.world.now();
    const { marker, user, id: sourceId } = source;
    const answer = await service.post("/api/v1/evals", {
      ...{ model, filters: { transaction_id: sourceId } },
      graders: [{ type: "contains", value: "You said" }],
    }, { authorization: `Bearer ${this.key.key}` });
    const text = await answer.text();
    if (answer.status !== 202) return assert.ok(answer.status >= 500, `${answer.status} ${text}`);
    const { eval_run_id } = JSON.parse(text) as { eval_run_id: string };
    const path = `/api/v1/evals/${eval_run_id}`;
    const state = await this.#endOf(service, path, "state");
    if (state === "waiting") {
      await askUntilAnswered(service, this.key.key, { method: "DELETE", path });
    }
    await this.flush();
    const noted = new Set(this.model.calls.map(({ id }) => id));
    for (const row of await this.world.services.at(-1)!.rows({}, this.key.key)) {
      const id = String(row.transaction_id);
      if (row.endpoint !== "/api/v1/evals" || noted.has(id)) continue;
      assert.equal(row.status, "completed");
      this.#noteCall({ id, marker, model, user, at, sourceId });
    }
  }

  async #credit(verb: "grant" | "deduct", nanos: bigint, times: number): Promise<void> {
    const note = `${verb}-${this.#name()}`;
    const path = `/api/v1/admin/credits/${verb === "grant" ? "grants" : "deductions"}`;
    const body = { usd: usd(nanos), account_id: this.accountId, note };
    for (let left = times; left > 0; left--) await this.world.admin("POST", path, body, note);
    this.credits.push({ note, nanos: verb === "grant" ? nanos : -nanos });
    if (verb === "grant") this.model.grantedNanos += nanos;
    else this.model.deductedNanos += nanos;
  }

  async #cap(per: "day" | "month", nanos: bigint): Promise<void> {
    const path = `/api/v1/admin/keys/${this.key.id}`;
    await this.world.admin("PATCH", path, { [`cap_${per}_usd`]: usd(nanos) });
    this.#limitKey(per, nanos);
  }

  async #budget({ on, per, nanos, raise }: BudgetStep): Promise<void> {
    // A new one counts what is stored.
    await this.flush();
    const until = this.world.now();
    until.setUTCHours(0, 0, 0, 0);
    until.setUTCDate(until.getUTCDate() + (raise?.days ?? 0));
    const set = () =>
      this.world.admin<{ id: string }>("POST", "/api/v1/admin/budgets", {
        ...{ on, per, usd: usd(nanos), account_id: this.accountId },
        ...raise ? { raise_until: until.toISOString(), raised_usd: usd(raise.nanos) } : {},
      });
    let { id } = await set();
    // The process that sets a budget has it at once, any other within seconds, in which it admits
    // calls as before. Under an old one it does so too, but not beyond the old limit.
    const name = `budget per ${per} on ${on}`;
    const more = this.budgets.has(name) ? 0 : this.world.services.length - 1;
    for (let left = more; left > 0; left--) ({ id } = await set());
    const counts: Limit["counts"] = ({ user, app }) =>
      ["account", `user:${user}`, `app:${app}`].includes(on);
    this.budgets.set(name, { on, per, id });
    // What a new budget counts of its period is read from the account's sums or from its calls.
    const made = { per, counts, seesErased: on === "account" };
    const raised = raise ? { raise: { nanos: raise.nanos, until } } : {};
    this.model.setLimit(name, nanos, { ...made, ...raised }, this.world.now());
  }

  async #removeBudget(which: number): Promise<void> {
    const names = [...this.budgets.keys()];
    const name = names[which % names.length];
    if (name === undefined) return;
    await this.world.admin("DELETE", `/api/v1/admin/budgets/${this.budgets.get(name)!.id}`);
    this.budgets.delete(name);
    this.model.limits.delete(name);
  }

  async #replaceKey(): Promise<void> {
    await this.flush();
    const { id } = this.key;
    await this.#newKey();
    await this.world.admin("DELETE", `/api/v1/admin/keys/${id}`);
  }

  async #reprice(table: number): Promise<void> {
    await this.flush();
    await this.world.setPrices(table);
    await this.world.admin("POST", "/api/v1/admin/prices/reprice", {
      ...{ dry_run: false, account_id: this.accountId },
    });
    this.model.reprice(table);
  }

  async #erase(which: number): Promise<void> {
    const call = this.#there(which);
    if (!call) return;
    const { key } = this.key;
    const [service] = this.world.services;
    await askUntilErased(service!, key, call.id);
    for (const one of this.model.calls) {
      if (one === call || one.sourceId === call.id) one.isErased = true;
    }
  }

  /** With calls under way, and budgets on the user. */
  async #eraseUser(user: string): Promise<void> {
    const { key } = this.key;
    const [service] = this.world.services;
    const body = { user_id: user, reason: "asked for" };
    const path = "/api/v1/data";
    const { request_id } = await askUntilAnswered<{ request_id: string }>(
      ...[service!, key, { method: "POST", path, body }] as const,
    );
    this.#erasures.set(user, (this.#erasures.get(user) ?? 0) + 1);
    for (const deadline = performance.now() + patienceMs;;) {
      const { state } = await askUntilAnswered<{ state: string }>(
        ...[service!, key, { method: "GET", path: `${path}/requests/${request_id}` }] as const,
      );
      if (state === "done") break;
      assert.ok(performance.now() < deadline, `the deletion is still ${state}`);
      await pause(20);
    }
    for (const call of this.model.calls) if (call.user === user) call.isErased = true;
    for (const [name, { on }] of this.budgets) {
      if (on !== `user:${user}`) continue;
      this.budgets.delete(name);
      this.model.limits.delete(name);
    }
  }

  /** One of the calls that aren't erased. */
  #there(which: number): ModelCall | undefined {
    const there = this.model.calls.filter(({ isErased }) => !isErased);
    return there[which % there.length];
  }
}

/** Erases a call, and waits until no row of it is left. */
async function askUntilErased(service: TestService, key: string, id: string): Promise<void> {
  const answer = await untilStored(() =>
    service.fetch("/api/v1/data", {
      method: "DELETE",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ transaction_ids: [id], confirm: true }),
    })
  );
  const text = await answer.text();
  assert.ok([200, 202].includes(answer.status), `${answer.status} ${text}`);
  for (const deadline = performance.now() + patienceMs;;) {
    if ((await service.rows({ transaction_id: id }, key)).length === 0) return;
    assert.ok(performance.now() < deadline, `${id} is still there`);
    await pause(50);
  }
}

function idOf(answer: Response): string {
  const id = answer.headers.get("x-transaction-id");
  if (id === null) throw new Error("an answer without its transaction");
  return id;
}
