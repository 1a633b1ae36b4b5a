import { parseExactly } from "../../base/exact_json.ts";
import { heavyUnits, parsing } from "../../base/heavy_json.ts";
import { runAtOnce } from "../../base/heavy_work.ts";
import { type QuotedJson, quoteJson, quoteText, unquoteJson } from "../../base/quoted_json.ts";
import type { Steps } from "../../base/steps.ts";
import { writeJson } from "../../base/write_json.ts";
import type { Conversation } from "../../dialects/kernel/conversation.ts";
import type { Dialect, RequestFacts } from "../../dialects/kernel/dialect.ts";
import type { RecordedFields } from "../../dialects/kernel/recorded_fields.ts";
import { textWithoutTags, withoutTags } from "../../dialects/kernel/tag_blocks.ts";
import { maskCredentialsSteps } from "../../records/mask_credentials.ts";
import { Fault, invalidValue } from "../../shared/fault.ts";
import { refuseLongIdentifiers } from "../../shared/long_identifiers.ts";
import type {
  StoredResponse,
  StoredResponseFields,
  StoredResponseStore,
} from "../../shared/stored_response.ts";
import type { CallContext } from "../call_context.ts";
import { recordModeOf } from "../record_mode.ts";
import { findSeals } from "./reasoning_store.ts";

/**
 * Makes what is stored of an answer from the JSON text that the caller received, in steps if that is
 * large.
 */
export type Retainer = (answerText: string) => Steps<StoredResponseFields | undefined>;

/**
 * Returns the request with the conversation that it continues, from our own store: the vendor's is
 * shared by everyone who uses the service's key. `sealedBy` is a vendor that is asked in this
 * dialect and stores nothing: reasoning is sealed for it. `mayBeVendors`: the vendor is asked in
 * this dialect with a key of the caller's own, and may store what the caller asks it to. Throws
 * `previous_response_not_found` when the account has no such answer.
 */
export async function continueConversation(
  request: SentRequest & { caller: CallContext; dialect: Dialect },
  store: StoredResponseStore,
  { sealedBy, mayBeVendors = false }: { sealedBy?: string | undefined; mayBeVendors?: boolean } =
    {},
): Promise<ContinuedRequest> {
  const { conversation } = request.dialect;
  if (!conversation) return { body: request.body, bodyText: request.bodyText, sources: [] };
  const { caller } = request;
  const account = caller.principal.account.id;
  const seals: Seals = (ids) =>
    sealedBy === undefined
      ? Promise.resolve(() => undefined)
      : findSeals(ids, sealedBy, account, store);
  const isUnrecorded = recordModeOf(caller) === "metadata";
  const lookup = { caller, account, store, seals, mayBeVendors, isUnrecorded };
  const continued = await withPrevious(conversation, request, lookup);
  const whole = await withItems(conversation, continued, lookup);
  const { step = runAtOnce } = callerFor(caller, whole.bodyText.length);
  if (whole.body !== request.body && whole.bodyText.length > heavyUnits) {
    // Each turn of the conversation may have a few.
    await step.inSteps(() => refuseLongIdentifiers(whole.body));
  }
  if (sealedBy === undefined || !conversation.sealInput) return whole;
  // The vendor stores nothing, so items that the caller sends back are sealed too.
  const own = conversation.unsealedIds(isBody(whole.body) ? whole.body.input : undefined);
  const find = await seals(own);
  return { ...whole, ...await step.inSteps(() => conversation.sealInput!(whole, find)) };
}

/**
 * The caller for work on a body of so many UTF-16 units. Where an earlier conversation makes a small
 * one large, the work runs in turns with other calls.
 */
export function callerFor(caller: CallContext, units: number): CallContext {
  const { step = runAtOnce, heavyStep } = caller;
  const isSmall = step.isHeavy || units <= heavyUnits;
  return isSmall || !heavyStep ? caller : { ...caller, step: heavyStep() };
}

async function parsed(caller: CallContext, text: string | QuotedJson): Promise<unknown> {
  if (typeof text === "string" && text.length <= heavyUnits) return parseExactly(text);
  const { step = runAtOnce } = callerFor(caller, text.length);
  return await step.inSteps(() => parsingStored(text));
}

/** Parses a stored conversation or answer, in steps if it is large. */
export function* parsingStored(stored: string | QuotedJson): Steps<unknown> {
  const text = yield* textOfStored(stored);
  return text.length <= heavyUnits ? parseExactly(text) : yield* parsing(text);
}

/** Returns the text of a stored conversation or answer, in steps if it is large. */
export function* textOfStored(stored: string | QuotedJson): Steps<string> {
  return typeof stored === "string" ? stored : yield* unquoteJson(stored);
}

/** Finds sealed reasoning by the ids of its items. */
type Seals = (ids: readonly string[]) => Promise<(id: string) => string | undefined>;

/** What it takes to find earlier answers. */
interface LookupDeps {
  caller: CallContext;
  account: number;
  store: StoredResponseStore;
  seals: Seals;
  mayBeVendors: boolean;
  /** Nothing of this call's text is stored. */
  isUnrecorded: boolean;
}

function isBody(body: unknown): body is { input?: unknown } {
  return typeof body === "object" && body !== null;
}

/** A request's body as a value and as text. */
interface RequestBody {
  body: unknown;
  bodyText: string;
}

interface SentRequest extends RequestBody {
  /** The tag lines of `body`. */
  tagBlocks: RequestFacts["tagBlocks"];
}

export interface ContinuedRequest extends RequestBody {
  /** The calls whose text was added. */
  sources: readonly string[];
  /** The vendor stores this conversation, in the caller's own account there. */
  isVendors?: boolean;
}

async function withPrevious(
  conversation: Conversation,
  { body, bodyText, tagBlocks }: SentRequest,
  { caller, account, store, seals, mayBeVendors, isUnrecorded }: LookupDeps,
): Promise<ContinuedRequest> {
  const { own } = conversation;
  const previousId = conversation.previousId(body);
  const isVendors = mayBeVendors && own?.isAsked(body) === true;
  if (isUnrecorded && !isVendors && own?.isAsked(body)) throw unsupported(own);
  const unchanged = { body, bodyText, sources: [], ...(isVendors ? { isVendors } : {}) };
  if (previousId === undefined) {
    if (isVendors || !own?.isAsked(body)) return unchanged;
    const { step = runAtOnce } = callerFor(caller, bodyText.length);
    return { ...await step.inSteps(() => own.start({ body, bodyText })), sources: [] };
  }
  const find = () => store.findResponse(account, previousId);
  const previous = await find() ??
    await unlessUnfinished(conversation.previousField, account, previousId, store) ??
    (isVendors ? undefined : await store.lookAgain?.(account, caller, find));
  const answer = previous && await parsed(caller, previous.answerText);
  // An answer of another dialect can't be continued in this one.
  if (!previous || conversation.answerId(answer) !== previousId) {
    if (isVendors) return unchanged;
    const field = conversation.previousField;
    const details = conversation.notFoundDetails;
    throw new Fault("previous_response_not_found", {
      param: field,
      message: `${field}: no stored response has the id '${previousId.slice(0, 100)}'.`,
      ...(details ? { details } : {}),
    });
  }
  const inputItems = await parsed(caller, previous.inputItemsText);
  const unsealed = [inputItems, answer].flatMap((one) => conversation.unsealedIds(one));
  const sealOf = await seals(unsealed);
  const units = previous.inputItemsText.length + previous.answerText.length + bodyText.length;
  const { step = runAtOnce } = callerFor(caller, units);
  const added = await step.inSteps(() =>
    withoutOwnTags(conversation, { body, bodyText, tagBlocks })
  );
  const continued = await step.inSteps(() =>
    conversation.continueFrom({
      ...added,
      inputItems: conversation.sealItems(inputItems, sealOf) as unknown[],
      answer: conversation.sealItems(answer, sealOf),
    })
  );
  return { ...continued, sources: textsOf([previous]) };
}

/**
 * Cuts the tag lines of what a request adds to a conversation: within it they would be text like
 * any other, for the vendor and for later turns.
 */
function* withoutOwnTags(
  { inputField }: Conversation,
  { body, bodyText, tagBlocks }: SentRequest,
): Steps<RequestBody> {
  const blocks = tagBlocks.filter(({ path }) => path[0] === inputField);
  return { body: withoutTags(body, blocks), bodyText: yield* textWithoutTags(bodyText, blocks) };
}

/**
 * Makes the fault of a call that asks to store its conversation although its content is not
 * recorded.
 */
function unsupported({ field, unsupportedDetails: details }: NonNullable<Conversation["own"]>) {
  return new Fault("unsupported_parameter", {
    param: field,
    message: `${field}: nothing of this call is stored ('X-Record: metadata', or the key's own ` +
      "setting), so it can't be continued.",
    details,
  });
}

/**
 * Looks for a background call behind a response that is not stored: returns the response if the
 * call has just ended, and throws `previous_response_unfinished` while it is under way.
 */
async function unlessUnfinished(
  field: string,
  account: number,
  previousId: string,
  store: StoredResponseStore,
): Promise<StoredResponse | undefined> {
  const state = await store.backgroundState?.(account, previousId);
  if (state === "completed" || state === "incomplete") {
    return await store.findResponse(account, previousId);
  }
  if (state !== "queued" && state !== "in_progress") return undefined;
  throw new Fault("previous_response_unfinished", {
    param: field,
    message: `${field}: the response '${
      previousId.slice(0, 100)
    }' is ${state}; it can be continued once it is completed.`,
  });
}

/** Returns the ids of the calls whose text these responses hold. */
function textsOf(responses: readonly StoredResponse[]): string[] {
  const all = responses.flatMap(({ transactionId, sources }) => [transactionId, ...sources]);
  return [...new Set(all)];
}

/**
 * Adds the items that the request refers to by id, always from our own store: the vendor's is open
 * to others.
 */
async function withItems(
  conversation: Conversation,
  request: ContinuedRequest,
  { caller, account, store, seals }: LookupDeps,
): Promise<ContinuedRequest> {
  const wanted = conversation.referencedIds(request.body);
  if (wanted.length === 0 || !conversation.resolve) return request;
  let missing: string | undefined;
  const findAll = async () => {
    const some = await store.findByItems(account, wanted);
    const stored = new Set(some.flatMap(({ itemIds }) => itemIds));
    missing = wanted.find((id) => !stored.has(id));
    return missing === undefined ? some : undefined;
  };
  const found = await findAll() ?? await store.lookAgain?.(account, caller, findAll);
  if (found === undefined) {
    throw invalidValue("input", `no stored item has the id '${missing?.slice(0, 100)}'`);
  }
  const answers: unknown[] = [];
  for (const { answerText } of found) answers.push(await parsed(caller, answerText));
  const find = await seals(answers.flatMap((answer) => conversation.unsealedIds(answer)));
  const sealed = answers.map((answer) => conversation.sealItems(answer, find));
  const units = found.reduce((sum, { answerText }) => sum + answerText.length, 0);
  const { step = runAtOnce } = callerFor(caller, units + request.bodyText.length);
  const resolved = await step.inSteps(() => conversation.resolve!(request, sealed));
  // Only the answers of these calls are used, not what they continued.
  const taken = found.map(({ transactionId }) => transactionId);
  return { ...resolved, sources: [...new Set([...request.sources, ...taken])] };
}

/**
 * Returns a function that makes what is stored of the answer; undefined where the caller asked not
 * to store it, or the vendor stores it. `body` is the whole conversation; `sources` are the calls
 * whose text is in it.
 */
export function retainerOf(
  dialect: Dialect,
  { body, sources, isVendors }: Pick<ContinuedRequest, "body" | "sources" | "isVendors">,
  inputItemsText: string | QuotedJson | undefined,
): Retainer | undefined {
  const { conversation } = dialect;
  if (isVendors || !conversation?.wantsStored(body)) return undefined;
  const itemsText = () => writtenItems(conversation, body, inputItemsText);
  const form = { conversation, credentialFields: dialect.credentialFields };
  return (text) => retaining(form, text, { sources, itemsText });
}

function* retaining(
  { conversation, credentialFields }:
    & { conversation: Conversation }
    & Pick<RecordedFields, "credentialFields">,
  sent: string,
  { sources, itemsText }: {
    sources: readonly string[];
    itemsText: () => Steps<string | QuotedJson>;
  },
): Steps<StoredResponseFields | undefined> {
  // Some vendors repeat the request's tools.
  const text = yield* maskCredentialsSteps(sent, credentialFields);
  const answer = yield* parsingStored(text);
  const responseId = conversation.answerId(answer);
  if (responseId === undefined) return undefined;
  const itemIds = conversation.itemIds(answer);
  const answerText = text.length > heavyUnits ? yield* quoteText(text) : text;
  const inputItemsText = yield* itemsText();
  return { responseId, inputItemsText, answerText, itemIds, sources };
}

function* writtenItems(
  conversation: Conversation,
  body: unknown,
  written: string | QuotedJson | undefined,
): Steps<string | QuotedJson> {
  return written ?? (yield* writeJson(conversation.inputItems(body)));
}

/** Writes what a request adds to its conversation; empty where nothing is stored. */
export function* inputItems({ conversation }: Dialect, body: unknown): Steps<string | QuotedJson> {
  return conversation?.wantsStored(body) ? yield* quoteJson(conversation.inputItems(body)) : "";
}
