import assert from "@std/assert";
import type { TestService } from "../../support/service.ts";
import { untilStored } from "../../support/until_admitted.ts";
import type { Behaviour } from "../../faults/whole_calls/vendor.ts";
import { checkAccount } from "./check.ts";
import { AccountModel, boundNanos, costNanos, type Limit, type ModelCall } from "./model.ts";
import type { CallStep, Step } from "./steps.ts";
import { askUntilAnswered, type World } from "./world.ts";

const patienceMs = 60_000;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
export const usd = (nanos: bigint) => {
  const text = String(nanos < 0n ? -nanos : nanos).padStart(10, "0");
  return `${nanos < 0n ? "-" : ""}${text.slice(0, -9)}.${text.slice(-9)}`;
};

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
        return await this.#background(this.#service(step.service));
      case "grant":
      case "deduct":
        return await this.#credit(step.do, step.nanos, step.times);
      case "cap":
        return await this.#cap(step.per, step.nanos);
      case "budget":
        return await this.#budget(step.on, step.per, step.nanos);
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
    const answer: Behaviour = { kind: "answer", waitMs: isHeld ? 60 : 0, dripMs: 0, early: false };
    for (const marker of calls) {
      const failures = Array.from({ length: step.failures }, () => failing);
      this.world.vendors.script(marker, [...failures, answer]);
    }
    const at = this.world.now();
    const asked = calls.map((marker) => this.#call(service, step, marker, at));
    if (isHeld) {
      await this.#untilSent(calls, asked);
      if (step.meanwhile === "cut") await this.world.cut();
      else this.world.turn(step.meanwhile as "day" | "month");
    }
    const outcomes = await Promise.all(asked);
    assert.deepEqual(this.model.overspent(at), [], "more was charged than there was");
    for (let left = step.repeats; left > 0; left--) {
      for (const marker of calls) await this.#repeat(this.#service(left + 1), step, marker);
    }
    if (step.insists && outcomes.includes("refused")) await this.#insist(service, step);
  }

  /** Until a vendor has one of the calls, or all have ended. */
  async #untilSent(markers: readonly string[], asked: readonly Promise<string>[]): Promise<void> {
    let isOver = false;
    void Promise.allSettled(asked).then(() => isOver = true);
    const { requests } = this.world.vendors;
    while (!isOver && !requests.some(({ marker }) => markers.includes(marker))) await pause(2);
  }

  async #call(
    service: TestService,
    step: Pick<CallStep, "model" | "fallback" | "user" | "stream">,
    marker: string,
    at: Date,
  ): Promise<"answered" | "refused" | "failed"> {
    const answer = await this.#ask(service, step, marker);
    const text = await answer.text();
    if (answer.status === 402) return "refused";
    if (answer.status !== 200) {
      assert.ok(answer.status >= 500, `${answer.status} ${text}`);
      return "failed";
    }
    const vendor = this.#vendorOf(marker);
    const call = this.#noteCall({ id: idOf(answer), marker, vendor, user: step.user, at });
    const charged = answer.headers.get("x-charged-usd");
    if (charged !== null) assert.equal(charged, usd(call.chargedNanos), "as the caller is told");
    return "answered";
  }

  #ask(
    service: TestService,
    { model, fallback, user, stream }: Pick<CallStep, "model" | "fallback" | "user" | "stream">,
    marker: string,
  ): Promise<Response> {
    return service.post("/chat/v1/chat/completions", {
      ...{ model, stream, user, max_tokens: 60 },
      messages: [{ role: "user", content: `Say ${marker} please.` }],
    }, {
      authorization: `Bearer ${this.key.key}`,
      "x-request-id": marker,
      ...fallback === undefined ? {} : { "x-fallback-models": fallback },
    });
  }

  #vendorOf(marker: string): string {
    const answered = this.world.vendors.requests.filter((one) =>
      one.marker === marker && one.complete
    );
    assert.equal(answered.length, 1, `vendors answered ${marker} once`);
    return answered[0]!.vendor;
  }

  #noteCall(
    call: Pick<ModelCall, "id" | "marker" | "vendor" | "user" | "at"> & { isFree?: boolean },
  ): ModelCall {
    const { isFree = false, ...more } = call;
    const chargedNanos = isFree ? 0n : costNanos(call, 0);
    const noted = { ...more, keyId: this.key.id, chargedNanos, isFree, isErased: false };
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
    const [{ vendor } = first] = this.world.vendors.requests.filter((one) => one.marker === marker)
      .slice(-1);
    this.#noteCall({ id: idOf(answer), marker, vendor, user: step.user, at, isFree: true });
  }

  /** What other processes hold idle comes back, so that a call that is paid for is answered. */
  async #insist(service: TestService, step: CallStep): Promise<void> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const at = this.world.now();
      if (this.model.leftNanos({ keyId: this.key.id, user: step.user, at }) < boundNanos) return;
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
    this.#noteCall({ id: idOf(answer), marker, vendor: "vendor-b", user, at, isFree });
  }

  /** A call that goes on without its caller. None is cancelled: its cost would depend on the moment. */
  async #background(service: TestService): Promise<void> {
    const marker = this.#marker();
    const at = this.world.now();
    const user = "user-2";
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
    const path = `/chat/v1/responses/${id}`;
    let status = "";
    for (const deadline = performance.now() + patienceMs; performance.now() < deadline;) {
      const found = await askUntilAnswered<{ status: string }>(
        ...[service, this.key.key, { method: "GET", path }] as const,
      );
      status = found.status;
      if (!/queued|in_progress/.test(status)) break;
      await pause(20);
    }
    assert.match(status, /completed|failed/);
    if (status !== "completed") return;
    const { vendor } = this.world.vendors.requests.find((one) => one.marker === marker)!;
    this.#noteCall({ id: idOf(answer), marker, vendor, user, at });
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

  async #budget(on: string, per: "day" | "month", nanos: bigint): Promise<void> {
    // A new one counts what is stored.
    await this.flush();
    const { id } = await this.world.admin<{ id: string }>("POST", "/api/v1/admin/budgets", {
      ...{ on, per, usd: usd(nanos) },
      account_id: this.accountId,
    });
    const counts: Limit["counts"] = ({ user }) => on === "account" || on === `user:${user}`;
    const name = `budget per ${per} on ${on}`;
    this.budgets.set(name, { on, per, id });
    // What a new budget counts of its period is read from the account's sums or from users' rows.
    const seesErased = on === "account";
    this.model.setLimit(name, nanos, { per, counts, seesErased }, this.world.now());
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
    const there = this.model.calls.filter(({ isErased }) => !isErased);
    const call = there[which % there.length];
    if (!call) return;
    const { key } = this.key;
    const [service] = this.world.services;
    await askUntilErased(service!, key, call.id);
    call.isErased = true;
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
