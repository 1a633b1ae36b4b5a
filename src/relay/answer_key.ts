import { hashJson, longNumbers } from "../base/hash_json.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import type { Steps } from "../base/steps.ts";
import { sha256Hex } from "../base/hash.ts";
import type { Dialect, RequestFacts } from "../dialects/kernel/dialect.ts";
import { withoutTags } from "../dialects/kernel/tag_blocks.ts";
import type { Route } from "../routing/route.ts";
import { forwardedHeaders } from "../vendors/vendor_headers.ts";
import type { CallContext } from "./call_context.ts";
import { translationMode } from "./plan/plan_call.ts";
import type { VendorCallContext } from "./vendor_call.ts";

/** The parts of a request that decide its answer. */
export interface KeyedRequest {
  readonly caller: CallContext;
  readonly dialect: Dialect;
  /** As the dialect reads it, with the model and the form of the answer as members. */
  readonly body: unknown;
  readonly bodyText: string;
  readonly jsonArray?: boolean;
}

/**
 * Returns the key of a text call's answer in the response cache: a SHA-256, in hex, over account,
 * path, form of the answer, translation mode (it decides what is left out and which vendors are
 * skipped), the models in order with their vendor keys where those are the account's own, forwarded
 * headers, `route`, and the body as a JSON value without tag lines and `labelFields`. `route` is
 * what the model's name leads to: once that has changed, the stored answer is no longer used.
 * Undefined where the request doesn't contain its whole prompt: it continues a conversation, or
 * uses state in a vendor's account.
 */
export async function answerKey(
  request: KeyedRequest,
  facts: Pick<RequestFacts, "tagBlocks">,
  vendorCalls: readonly VendorCallContext[],
  route: Route | undefined,
): Promise<string | undefined> {
  const { caller, dialect, body, bodyText, jsonArray = false } = request;
  const { step = runAtOnce, principal: { account }, path } = caller;
  if (!await step.inSteps(() => isWholePrompt(dialect, body))) return undefined;
  const compared = { ...withoutTags(body, facts.tagBlocks) as Record<string, unknown> };
  for (const name of dialect.labelFields) delete compared[name];
  const values = await step.inSteps(() => hashJson(compared));
  const numbers = await step.inSteps(() => longNumbers(bodyText));
  const candidates = vendorCalls.map((vendorCall) => candidateText(vendorCall, dialect));
  const asked = [account.id, path, jsonArray, translationMode(caller)];
  return sha256Hex(
    JSON.stringify([...asked, values, numbers, candidates, routeText(route)]),
  );
}

function routeText(route: Route | undefined): unknown {
  if (!route) return null;
  const { isVirtual, targets, fallbacks, stickBy = null } = route;
  const weighted = targets.map(({ target: { id }, weight }) => [id, weight]);
  return [isVirtual, weighted, fallbacks.map(({ id }) => id), stickBy];
}

function* isWholePrompt({ conversation, hostedWork }: Dialect, body: unknown): Steps<boolean> {
  const { state } = yield* hostedWork(body);
  if (state.length > 0) return false;
  if (conversation?.own?.isAsked(body)) return false;
  return conversation?.previousId(body) === undefined &&
    (conversation?.referencedIds(body).length ?? 0) === 0;
}

/**
 * The service's own keys are left out, since they may change without changing answers. An account's
 * own key stands for its account at the vendor.
 */
function candidateText(
  { caller, target: { id, vendor }, mode, isManaged, key }: VendorCallContext,
  dialect: Dialect,
): unknown {
  const sameDialect = vendor.dialects.includes(dialect.name);
  return [
    id,
    isManaged ? null : [mode, sha256Hex(key.reveal())],
    Object.entries(forwardedHeaders(vendor, caller, { sameDialect, isOwnKey: !isManaged })).sort(),
  ];
}
