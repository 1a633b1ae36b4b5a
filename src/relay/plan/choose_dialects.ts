import type { DialectName } from "../../../contracts/calls/vendors.ts";
import { readVendorError } from "../../dialects/kernel/vendor_error.ts";
import type { ToolDemand } from "../../dialects/kernel/tool_demand.ts";
import type { LearnedEndpoints } from "../../vendors/learned_endpoints.ts";
import type { ResolvedModel } from "../../vendors/model_name.ts";
import type { Prices } from "../../pricing/table/prices.ts";

export interface DialectDeps {
  prices: Pick<Prices, "chatRefuses">;
  learned: LearnedEndpoints;
}

/** What the choice of a vendor's endpoint depends on. */
export interface DialectCall {
  target: ResolvedModel;
  /** The caller's dialect. */
  own: DialectName;
  /** What the call asks of a chat endpoint. */
  demand: ToolDemand;
  at: Date;
}

/**
 * The dialects in which the vendor may be asked, best first (interface.md §4): the caller's own if
 * the vendor speaks it, else that of its row's `translate_to`; endpoints that are known to be
 * missing are left out, and chat comes last where it is known to refuse the call.
 */
export function dialectsFor(deps: DialectDeps, call: DialectCall): DialectName[] {
  const { target: { vendor }, own } = call;
  const preferred = vendor.dialects.includes(own) ? own : vendor.translateTo ?? vendor.dialects[0]!;
  const all = [preferred, ...vendor.dialects.filter((name) => name !== preferred)];
  const there = all.filter((name) => !deps.learned.isMissing(vendor.label, name));
  const order = there.length > 0 ? there : all;
  if (!order.includes("chat") || !chatIsRefused(deps, call)) return order;
  const first = order[0] === "chat" ? "responses" : order[0]!;
  const others = order.filter((name) => name !== "chat" && name !== first);
  return [first, ...others, "chat"];
}

/** Whether the vendor's chat endpoint is known to refuse the call, and another one takes it. */
export function chatIsRefused({ prices, learned }: DialectDeps, call: DialectCall): boolean {
  const { target: { vendor, model }, demand, at } = call;
  const { label } = vendor;
  if (!vendor.dialects.includes("responses") || learned.isMissing(label, "responses")) return false;
  if (learned.chatRefuses(label, model, demand)) return true;
  if (demand === "none" || demand === "tools_alone") return false;
  const refused = prices.chatRefuses(label, model, at);
  return refused.includes("tools") ||
    (refused.includes("tools_with_reasoning") && demand === "tools_with_reasoning");
}

/** What a refusal says of the endpoint, and not of the call. */
export type EndpointRefusal = "points-to-responses" | "missing";

/**
 * Whether a vendor's refusal is about the endpoint: it points to the responses endpoint, or it is a
 * 404 that names neither the model nor anything else of the request. `text` is the body as it came.
 */
export function readEndpointRefusal(
  refusal: { status: number; json: unknown; text: string },
  model: string,
): EndpointRefusal | undefined {
  const { status, json, text } = refusal;
  if (status !== 400 && status !== 404) return undefined;
  const { message = "", param, code = "" } = readVendorError(json, status);
  // What stands in quotes may be the caller's own words.
  const unquoted = message.slice(0, maxRead).replace(/'[^']*'|"[^"]*"|`[^`]*`/g, "");
  if (/\bv1\/responses\b/.test(unquoted)) return "points-to-responses";
  if (status !== 404 || param !== undefined || /model|response|item/i.test(code)) return undefined;
  const read = text.slice(0, maxRead);
  return names(read, model) || /\bmodels?\b/i.test(read) ? undefined : "missing";
}

/** Whether the name stands in the text, and not as a piece of another word. */
function names(text: string, model: string): boolean {
  const isWord = (at: number) => /[\w-]/.test(text.charAt(at));
  for (let at = text.indexOf(model); at >= 0; at = text.indexOf(model, at + 1)) {
    if (!isWord(at - 1) && !isWord(at + model.length)) return true;
  }
  return false;
}

/** Characters of a refusal that are looked at. */
const maxRead = 4096;
