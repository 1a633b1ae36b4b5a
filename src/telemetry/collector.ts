import { systemSetTimer } from "../base/deadline.ts";
import type { OtlpProtocol, OtlpRequest } from "./otlp.ts";

/** How requests are sent to the collector, whatever they carry. */
export interface CollectorSettings {
  protocol: OtlpProtocol;
  headers: Readonly<Record<string, string>>;
  /** Time limit of one request. */
  timeoutMs: number;
  /** Attributes of the sender, `service.name` among them. */
  resource: Readonly<Record<string, string>>;
}

/** A request to the collector; resolves with its status, rejects where it gets no answer. */
export type PostToCollector = (request: {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  signal: AbortSignal;
}) => Promise<number>;

export type Sent = "taken" | "refused" | "away";

/** Sends one request; never rejects, and ends within the time limit. */
export async function sendToCollector(
  url: string,
  { body, contentType }: OtlpRequest,
  { headers, timeoutMs }: CollectorSettings,
  post: PostToCollector,
): Promise<Sent> {
  const limit = new AbortController();
  const cancel = systemSetTimer(timeoutMs, () => limit.abort());
  try {
    const status = await post({
      ...{ url, body, signal: limit.signal },
      headers: { ...headers, "content-type": contentType },
    });
    if (status < 300) return "taken";
    return retriedStatuses.has(status) ? "away" : "refused";
  } catch {
    return "away";
  } finally {
    cancel();
  }
}

/** Statuses after which the same request may be sent again, by the OpenTelemetry protocol. */
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
