import { promptText } from "../dialects/kernel/prompt_text.ts";
import { withoutTags } from "../dialects/kernel/tag_blocks.ts";
import { readVendorError } from "../dialects/kernel/vendor_error.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import { Fault } from "../shared/fault.ts";
import { resolveTarget } from "../vendors/model_name.ts";
import type { Registry, Vendor } from "../vendors/registry.ts";
import type { Upstream } from "../vendors/upstream.ts";
import { vendorHeaders, vendorRequestId } from "../vendors/vendor_headers.ts";
import { refuseState } from "./plan/hosted_work.ts";
import type { Caller } from "./call_context.ts";
import { readEndpointRefusal } from "./plan/choose_dialects.ts";
import { resolveVendorKey } from "./resolve_vendor_key.ts";
import type { PlanDeps } from "./plan/plan_call.ts";
import type { Reply } from "./reply.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";
import { vendorFault } from "./vendor_fault.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";

export interface CountRequest {
  caller: Caller;
  dialect: Dialect;
  /** The vendor whose family was called; undefined on the unified family. */
  vendor: Vendor | undefined;
  /** The caller's body, with `model` in it. */
  body: Readonly<Record<string, unknown>>;
}

/**
 * Counts the tokens of a request: the vendor's own count where it has one, else an estimate that
 * says so in `X-Token-Count`. Costs nothing and is no interaction (interface.md §4, §5).
 */
export async function countTokens(
  deps: PlanDeps & { registry: Registry; upstream: Upstream; storedKeys: VendorKeyCache },
  { caller, dialect, vendor, body }: CountRequest,
): Promise<Reply> {
  const model = String(body.model);
  const counted = { ...dialect.counting!.counted(body), model, stream: false };
  const target = resolveTarget(deps.registry, vendor, model);
  const same = target.vendor.dialects.includes(dialect.name);
  const upstream = same ? dialect : deps.dialects[target.vendor.dialects[0]!];
  const plain = withoutTags(counted, dialect.readRequest(counted).tagBlocks);
  if (!upstream.counting) {
    return estimate(dialect, plain);
  }
  const request = same ? plain : upstream.encodeRequest(dialect.decodeRequest(plain), {
    model: target.model,
    maxOutputTokens: undefined,
    quirks: target.vendor.quirks,
  }).body;
  const { key, mode } = await resolveVendorKey(target.vendor, caller, deps.storedKeys);
  if (mode === "managed") {
    refuseState(dialect.hostedWork(counted).state);
    refuseState(upstream.hostedWork(request).state);
  }
  const { model: _, stream: __, ...rest } = request as Readonly<Record<string, unknown>>;
  const answer = await deps.upstream.call({
    url: target.vendor.baseUrl + upstream.counting.path(target.model),
    method: "POST",
    headers: {
      ...vendorHeaders(target.vendor, key, caller, {
        sameDialect: same,
        isOwnKey: mode !== "managed",
      }),
      "content-type": "application/json",
    },
    body: JSON.stringify(upstream.counting.requestBody(rest, target.model)),
    signal: caller.signal,
  });
  const text = new TextDecoder().decode(await answer.body.readAll(1024 * 1024));
  const json = parse(text);
  if (answer.status !== 200) {
    const refusal = readEndpointRefusal({ status: answer.status, json, text }, target.model);
    // The dialect's own endpoint for it isn't everywhere where the dialect is.
    if (refusal === "missing") return estimate(dialect, plain);
    const error = readVendorError(json, answer.status);
    const fault = vendorFault({ ...error, status: answer.status }, {
      mode,
      address: target.vendor.baseUrl,
      key,
    });
    fault.vendorRequestId = vendorRequestId(answer.headers);
    throw fault;
  }
  const tokens = upstream.counting.read(json);
  if (tokens === undefined) throw new Fault("upstream_invalid_response");
  const id = vendorRequestId(answer.headers);
  return reply(dialect, tokens, id === undefined ? {} : { "x-vendor-request-id": id });
}

function estimate(dialect: Dialect, body: unknown): Reply {
  return reply(dialect, estimateTokens(promptText(body)), { "x-token-count": "estimated" });
}

function reply(dialect: Dialect, tokens: number, headers: Record<string, string>): Reply {
  return {
    status: 200,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(dialect.counting!.write(tokens)),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
