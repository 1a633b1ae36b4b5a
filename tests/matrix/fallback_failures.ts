import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { vendorWords } from "./vendor_words.ts";

/** How the first target of a call fails, and the code that its attempt is recorded with. */
export interface TargetFailure {
  name: string;
  /** The code, where it doesn't depend on the vendor's dialect. */
  code?: string;
  /** On a kept connection it may have been closed before: a new one is tried. */
  isRepeated?: boolean;
  act(exchange: FakeExchange, vendor: DialectName): unknown;
}

function status(number: number, code: string, error: object = {}): TargetFailure {
  return {
    name: `${number}${"code" in error ? ` ${error.code}` : ""}`,
    code,
    act: (exchange) => exchange.answer(number, { error: { message: "Not now.", ...error } }),
  };
}

/** Failures after which the next target is asked, whether the answer is to be streamed or not. */
export const failuresThatMoveOn: readonly TargetFailure[] = [
  status(408, "upstream_timeout"),
  status(425, "upstream_overloaded"),
  status(429, "upstream_rate_limited"),
  status(429, "upstream_quota_exhausted", { code: "insufficient_quota" }),
  status(401, "upstream_authentication_failed"),
  status(402, "upstream_quota_exhausted"),
  status(403, "upstream_authentication_failed", { code: "invalid api key" }),
  status(403, "upstream_quota_exhausted", { message: "Key limit exceeded (total limit)." }),
  status(500, "upstream_error"),
  status(501, "upstream_error"),
  status(502, "upstream_overloaded"),
  status(503, "upstream_overloaded"),
  status(504, "upstream_timeout"),
  status(529, "upstream_overloaded"),
  {
    name: "a connection that breaks before the answer",
    code: "upstream_unreachable",
    isRepeated: true,
    act: (exchange) => exchange.reset(),
  },
  {
    name: "an answer that is not JSON",
    act: (exchange) => exchange.answer(200, "<html>", { "content-type": "application/json" }),
  },
  {
    name: "an error under a good status",
    act: (exchange, vendor) => exchange.answer(200, vendorWords[vendor].errorBody),
  },
  {
    name: "an answer that is cut",
    code: "upstream_stream_truncated",
    async act(exchange, vendor) {
      const text = JSON.stringify(vendorWords[vendor].whole);
      const type = { "content-type": "application/json" };
      await exchange.head(200, type, { length: text.length });
      await exchange.write(text.slice(0, text.length - 20));
      exchange.cut();
    },
  },
];

/** The same, of streams. */
export const streamFailuresThatMoveOn: readonly TargetFailure[] = [
  { name: "a stream without an event", act: (exchange) => exchange.stream([]) },
  { name: "a stream of comments", act: (exchange) => exchange.stream([": still there\n\n"]) },
  {
    name: "a stream that ends before its first content",
    act: (exchange, vendor) => exchange.stream(beforeContent(vendor)),
  },
  {
    name: "a stream that is cut before its first content",
    code: "upstream_stream_truncated",
    async act(exchange, vendor) {
      await exchange.head(200, { "content-type": "text/event-stream" });
      for (const piece of beforeContent(vendor)) await exchange.write(piece);
      exchange.cut();
    },
  },
  {
    name: "a stream that is an error",
    act: (exchange, vendor) => exchange.stream([vendorWords[vendor].error]),
  },
  {
    name: "an error before the first content",
    act: (exchange, vendor) =>
      exchange.stream([...beforeContent(vendor), vendorWords[vendor].error]),
  },
];

/** The events of a stream that come before any content. */
function beforeContent(vendor: DialectName): readonly string[] {
  return vendorWords[vendor].begin.slice(0, -1);
}

/** Failures that are the caller's: no other target is asked. */
export const failuresOfTheCaller: readonly TargetFailure[] = [
  status(400, "invalid_request"),
  status(403, "upstream_forbidden", { message: "This region is not supported." }),
  status(404, "model_not_found", { message: "The model does not exist." }),
  status(409, "invalid_request"),
  status(413, "request_too_large"),
  status(422, "invalid_request"),
];
