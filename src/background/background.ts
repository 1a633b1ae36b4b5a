import type { DialectName } from "../../contracts/calls/vendors.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import { replayIdSteps } from "../idempotency/request_fingerprint.ts";
import type { Account } from "../keys/account.ts";
import type { BackgroundKey, BackgroundRequest, BackgroundStore } from "./background_call.ts";
import { Fault, invalidValue } from "../shared/fault.ts";
import type { StoredResponse, StoredResponseStore } from "../shared/stored_response.ts";
import type { BackgroundForm, Dialect } from "../dialects/kernel/dialect.ts";
import { answerIds, lossHeader, replayHeader, type Reply } from "../relay/reply.ts";
import type { BackgroundRunner } from "./runner.ts";
import { BackgroundTask, type TakenCall } from "../relay/background_task.ts";
import { type CallContext, repeatableId, stepFor } from "../relay/call_context.ts";
import { parsingStored, textOfStored } from "../relay/conversation/conversation.ts";
import { refuseUnrecorded } from "../relay/record_mode.ts";
import {
  type InputItemPage,
  inputItemPage,
  type InputItemQuery,
} from "../relay/conversation/input_item_page.ts";
import type { Relay, RelayRequest } from "../relay/relay.ts";
import type { Recorder } from "../records/recorder.ts";
import type { ResponseCache } from "../response_cache/response_cache.ts";

export interface BackgroundDeps {
  store: BackgroundStore;
  relay: Pick<Relay, "send">;
  runner: Pick<BackgroundRunner, "add" | "stop">;
  storedResponses: StoredResponseStore;
  responseCache: Pick<ResponseCache, "forget">;
  idempotency: Pick<Idempotency, "erase">;
  recorder: Pick<Recorder, "drain">;
  dialects: Readonly<Record<DialectName, Dialect>>;
  newTransactionId: () => string;
  /** Max unfinished calls of an account; on the free tier a tenth of it. */
  perAccount: number;
}

/**
 * Request headers that are stored with the call: those that the service, its records or vendors
 * read.
 */
const storedHeaders =
  /^(?:x-translation-mode|x-prompt-cache|x-fallback-models|http-referer|x-title|user-agent|traceparent|tracestate|(?:anthropic|openai|x-grok|x-hf)-[a-z0-9-]{1,64})$/;

/** Calls that continue without their caller (`background: true`). */
export class Background {
  readonly #deps: BackgroundDeps;
  readonly #form: BackgroundForm;

  constructor(deps: BackgroundDeps) {
    this.#deps = deps;
    this.#form = deps.dialects.responses.background!;
  }

  /**
   * Answers a background request at once with a queued response; any other call is made as usual.
   * Throws what an ordinary call would, and `rate_limit_exceeded` if the account has too many
   * unfinished background calls.
   */
  async send(request: RelayRequest): Promise<Reply> {
    const { relay } = this.#deps;
    const form = request.dialect.background;
    const sent = request.body as { stream?: unknown; store?: unknown };
    if (!form?.isAsked(sent)) return await relay.send(request);
    const { step = runAtOnce } = request.caller;
    const asked = {
      ...request,
      ...await step.inSteps(() => form.forVendor(sent, request.bodyText)),
    };
    // A streaming caller reads the answer itself; if it leaves, the answer is still read and stored.
    if (sent.stream === true) {
      return await relay.send({
        ...{ ...asked, sentText: request.bodyText },
        caller: readToTheEnd(request.caller),
      });
    }
    refuseUnrecorded(
      request.caller,
      "background",
      "its answer would be stored until it is retrieved",
    );
    if (sent.store === false) {
      throw invalidValue(
        "store",
        "a background response is stored until it is retrieved; leave out 'store'",
      );
    }
    const transactionId = this.#deps.newTransactionId();
    const responseId = answerIds(transactionId)("resp_");
    const task = new BackgroundTask({ form, transactionId, responseId, queuedText: "{}" });
    const key = { accountId: request.caller.principal.account.id, responseId };
    return await relay.send({
      ...{ ...asked, sentText: request.bodyText },
      background: { task, taken: (call) => this.#taken(request, key, form, call) },
    });
  }

  /**
   * Returns the response object in its current state, as JSON text; undefined if there is none.
   * Throws `unsupported_parameter` if it lacks something that `include` asks for.
   */
  async find(
    key: BackgroundKey,
    include: readonly string[],
    caller: HeavyWorkCaller,
  ): Promise<string | undefined> {
    const text = await this.#find(key, caller);
    if (text === undefined || include.length === 0) return text;
    const { requireIncluded } = this.#deps.dialects.responses.conversation!;
    const step = stepFor(text.length, caller);
    const answer = await step.inSteps(() => parsingStored(text));
    await step(() => requireIncluded!(answer, include));
    return text;
  }

  async #find(key: BackgroundKey, caller: HeavyWorkCaller): Promise<string | undefined> {
    const { store } = this.#deps;
    const ended = async () => {
      const stored = await this.#stored(key, caller);
      return stored && await textOf(stored, caller);
    };
    const answer = await ended();
    if (answer !== undefined) return answer;
    const call = await store.find(key);
    if (!call) return await this.#elsewhere(key, ended);
    // The call may have ended between the two reads.
    if (call.answerText === null) return await ended();
    return call.state === "in_progress"
      ? this.#form.moved(call.answerText, "in_progress")
      : call.answerText;
  }

  /**
   * Returns a page of the conversation that a response answered; undefined if there is no such
   * response. Throws `invalid_value` for a background response without an answer.
   */
  async inputItems(
    key: BackgroundKey,
    query: InputItemQuery,
    caller: HeavyWorkCaller,
  ): Promise<InputItemPage | undefined> {
    const stored = await this.#stored(key, caller) ?? await this.#justStored(key, caller);
    if (!stored) return undefined;
    const { inputItemsText: text, responseId: answerId } = stored;
    const step = stepFor(text.length, caller);
    const items = await step.inSteps(() => parsingStored(text)) as unknown[];
    const { listing } = this.#deps.dialects.responses.conversation!;
    return await step(() => inputItemPage(listing!, { items, answerId }, query));
  }

  /**
   * Ends a background call and returns the response object, unchanged if it had ended already;
   * undefined if there is none. Throws `invalid_value` for a response of another kind.
   */
  async cancel(key: BackgroundKey, caller: HeavyWorkCaller): Promise<string | undefined> {
    const { store, runner } = this.#deps;
    const call = await store.find(key);
    if (!call) {
      const find = () => this.#stored(key, caller);
      if (!await find() && !await this.#elsewhere(key, find)) return undefined;
      throw invalidValue(
        "response_id",
        "only responses that were created with 'background: true' can be cancelled",
      );
    }
    const isOpen = call.state === "queued" || call.state === "in_progress";
    if (isOpen && call.answerText !== null) {
      const cancelled = this.#form.moved(call.answerText, "cancelled");
      if (await store.cancel(key, cancelled)) {
        runner.stop(key, "cancelled");
        return cancelled;
      }
    }
    // It has ended, just now or long ago.
    return await this.#find(key, caller);
  }

  /** Forgets a response, whether it has ended or not; returns false if there is none. */
  async remove(key: BackgroundKey, caller: HeavyWorkCaller): Promise<boolean> {
    const { store, storedResponses, responseCache, idempotency, runner, recorder } = this.#deps;
    const removedId = await store.remove(key);
    if (removedId !== undefined) runner.stop(key, "cancelled");
    // A record that isn't written yet can't be removed.
    await recorder.drain(key.accountId);
    const find = () => this.#stored(key, caller);
    const stored = await find() ??
      (removedId === undefined ? await this.#elsewhere(key, find) : undefined);
    const transactionId = stored?.transactionId ?? removedId;
    if (transactionId === undefined) return false;
    // A replayed answer would have an id that can't be retrieved or continued.
    await responseCache.forget(key.accountId, transactionId);
    await idempotency.erase([transactionId]);
    const isForgotten = stored !== undefined &&
      await storedResponses.removeResponse(key.accountId, key.responseId);
    return isForgotten || removedId !== undefined;
  }

  /** Returns a stored answer of this dialect; those of others can only be continued. */
  async #stored(
    { accountId, responseId }: BackgroundKey,
    caller: HeavyWorkCaller,
  ): Promise<StoredResponse | undefined> {
    const { storedResponses, dialects } = this.#deps;
    const stored = await storedResponses.findResponse(accountId, responseId);
    if (!stored) return undefined;
    const { answerText: text } = stored;
    const answer = await stepFor(text.length, caller).inSteps(() => parsingStored(text));
    return dialects.responses.conversation?.answerId(answer) === responseId ? stored : undefined;
  }

  /** Looks for a response that another process answered just now. */
  async #elsewhere<T>(
    key: BackgroundKey,
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    return await this.#deps.storedResponses.lookAgain?.(key.accountId, key, find);
  }

  /**
   * Returns the answer of a background call that has ended meanwhile; throws `invalid_value` if it
   * has none.
   */
  async #justStored(
    key: BackgroundKey,
    caller: HeavyWorkCaller,
  ): Promise<StoredResponse | undefined> {
    const find = () => this.#stored(key, caller);
    const call = await this.#deps.store.find(key);
    if (!call) return await this.#elsewhere(key, find);
    if (call.answerText === null) return await find();
    throw invalidValue(
      "response_id",
      `the response is ${call.state}; its input can be read once it has an answer`,
    );
  }

  /** Stores an authorized call and hands it to the runner. */
  async #taken(
    { caller, vendor, body, bodyText }: RelayRequest,
    key: BackgroundKey,
    form: BackgroundForm,
    { call, target, authorization, losses }: TakenCall,
  ): Promise<Reply> {
    const { store, runner, perAccount } = this.#deps;
    const { account } = caller.principal;
    const headers = losses.length > 0 ? { "x-translation-loss": lossHeader(losses) } : {};
    const { begun } = call;
    const created = Math.floor(begun.createdAt.getTime() / 1000);
    const answerText = form.queued(body, { id: key.responseId, model: target.model, created });
    const request: BackgroundRequest = {
      bodyText,
      path: caller.path,
      vendor: vendor?.label ?? null,
      headers: headersOf(caller),
      hasOwnKey: caller.vendorKey !== undefined,
      begun: withoutPayload(begun),
    };
    try {
      const repeatable = await repeatableOf(caller, bodyText);
      const most = maxCallsOf(account, perAccount);
      const stored = await store.create({ ...key, request, answerText, repeatable, most });
      if (stored.repeated) {
        authorization.settle(0n);
        return await this.#replyToRepeat(
          { ...key, responseId: stored.responseId },
          caller,
          headers,
        );
      }
    } catch (thrown) {
      authorization.settle(0n);
      // There is no call, and so no record of this id.
      delete caller.trace.transactionId;
      throw thrown;
    }
    caller.trace.isAcknowledged = true;
    runner.add({ ...key, bodyUnits: bodyText.length }, {
      authorization,
      vendorKey: caller.vendorKey,
    });
    return jsonReply(answerText, headers);
  }

  /** Answers a request that was accepted before, by a process whose reply was not stored. */
  async #replyToRepeat(
    key: BackgroundKey,
    caller: CallContext,
    headers: Record<string, string>,
  ): Promise<Reply> {
    const { trace } = caller;
    const first = await this.#deps.store.find(key);
    const text = await this.#find(key, caller);
    if (!first || text === undefined) throw new Fault("response_not_found");
    trace.transactionId = first.transactionId;
    trace.isAcknowledged = true;
    return jsonReply(text, { ...headers, ...replayHeader });
  }
}

/**
 * Returns the caller of a stream that is read to its end even if the caller leaves. Its trace says
 * so from now on.
 */
function readToTheEnd(caller: CallContext): CallContext {
  const { account, key } = caller.principal;
  const principal = { account, key: { ...key, onDisconnect: "drain" as const } };
  caller.trace.outlivesCaller = true;
  return { ...caller, principal };
}

async function textOf({ answerText }: StoredResponse, caller: HeavyWorkCaller): Promise<string> {
  return await stepFor(answerText.length, caller).inSteps(() => textOfStored(answerText));
}

/** The caller in whose turns large work runs. */
type HeavyWorkCaller = Pick<CallContext, "heavyStep">;

function jsonReply(body: string, headers: Record<string, string>): Reply {
  return { status: 200, headers: { ...headers, "content-type": "application/json" }, body };
}

function maxCallsOf({ tier }: Pick<Account, "tier">, perAccount: number): number {
  return tier === "free" ? Math.ceil(perAccount / 10) : perAccount;
}

async function repeatableOf(caller: CallContext, bodyText: string) {
  const requestId = repeatableId(caller);
  if (requestId === undefined) return undefined;
  const { path, principal } = caller;
  const accountId = principal.account.id;
  const request = { accountId, method: "POST", path, requestId, bodyText };
  const step = stepFor(bodyText.length, caller);
  const { key, fingerprint } = await step.inSteps(() => replayIdSteps(request));
  return { requestId: key, requestHash: fingerprint };
}

function headersOf(caller: CallContext): Record<string, string> {
  const names = (caller.headerNames?.() ?? []).filter((name) => storedHeaders.test(name));
  return Object.fromEntries(names.map((name) => [name, caller.header(name) ?? ""]));
}

function withoutPayload(begun: TakenCall["call"]["begun"]) {
  const { media: _, leaseId: __, limitLeaseIds: ___, ...row } = begun;
  return { ...row, requestText: null };
}
