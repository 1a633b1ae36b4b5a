import { within } from "../base/deadline.ts";
import { parseExactly } from "../base/exact_json.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { jsonLimits } from "../base/heavy_json.ts";
import { JsonCount } from "../base/json_count.ts";
import type { Secret } from "../base/secret.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { asString, isRecord, type JsonRecord } from "../dialects/kernel/json.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Vendor } from "./registry.ts";
import { isAbort, type Upstream } from "./upstream.ts";
import { vendorHeaders } from "./vendor_headers.ts";

export interface ListedModel {
  /** The vendor's own name. */
  id: string;
  displayName: string | undefined;
  /** Unix time in seconds; 0 when the vendor doesn't say. */
  created: number;
  /** The vendor's own entry, for callers that speak its dialect. */
  raw: JsonRecord;
}

/** How a vendor answered when asked for its list. */
export interface Probe {
  checkedAt: Date;
  latencyMs: number;
  fault: Fault | undefined;
}

/**
 * Returns a vendor's models if they are cached or arrive within `ms`; undefined if that takes
 * longer or fails. An answer that comes later is cached for the next caller.
 */
export function withTimeout(
  catalogue: Pick<Catalogue, "models">,
  vendor: Vendor,
  ms: number,
): Promise<readonly ListedModel[] | undefined> {
  return within(ms, catalogue.models(vendor).catch(() => undefined), undefined);
}

interface Entry {
  models: readonly ListedModel[] | undefined;
  readAtMs: number;
  probe: Probe | undefined;
  probedAtMs: number;
  pending: Promise<Probe> | undefined;
}

const freshMs = 5 * 60_000;
const probeMs = 10_000;
/** Cap on the pages that are read of one list. */
const maxPages = 20;
/** Caps on the text and the JSON values of one list, all pages together: it stays in memory. */
const maxListBytes = 16 * 1024 * 1024;
const maxListValues = 250_000;

interface CatalogueDeps {
  clock: Clock;
  upstream: Upstream;
  prices: Prices;
  log?: Pick<Log, "warn">;
}

/** The model lists of the vendors, read at most every five minutes. */
export class Catalogue {
  readonly #deps: CatalogueDeps;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: CatalogueDeps) {
    this.#deps = deps;
  }

  /** Throws `Fault` when the vendor can't be asked and no list of it is cached. */
  async models(vendor: Vendor): Promise<readonly ListedModel[]> {
    const entry = this.#entryOf(vendor);
    if (this.#nowMs() - entry.readAtMs > freshMs) {
      const probe = await this.#recent(vendor, entry);
      // While a vendor is down, its old list is better than none.
      if (probe.fault && !entry.models) throw probe.fault;
    }
    return entry.models ?? [];
  }

  /**
   * Asks for the list now, with a key that is not the service's. The result isn't cached, since it
   * may name models of the key's owner. Throws `Fault`.
   */
  async modelsWith(vendor: Vendor, key: Secret): Promise<readonly ListedModel[]> {
    try {
      return await readListWith(this.#deps.upstream, vendor, key);
    } catch (thrown) {
      const fault = asFault(thrown);
      if (fault.code !== "upstream_authentication_failed") throw fault;
      throw new Fault("invalid_vendor_api_key", { cause: fault });
    }
  }

  /**
   * Asks the vendor for its list, for health checks; a result under ten seconds old is used again.
   */
  probe(vendor: Vendor): Promise<Probe> {
    return this.#recent(vendor, this.#entryOf(vendor));
  }

  /** A vendor that just failed isn't asked again at once. */
  async #recent(vendor: Vendor, entry: Entry): Promise<Probe> {
    const last = entry.probe;
    if (last && this.#nowMs() - entry.probedAtMs < probeMs) return last;
    // Callers that ask at the same time share one request.
    entry.pending ??= this.#refresh(vendor, entry).finally(() => entry.pending = undefined);
    return await entry.pending;
  }

  async #refresh(vendor: Vendor, entry: Entry): Promise<Probe> {
    const startedMs = this.#nowMs();
    const checkedAt = this.#deps.clock.now();
    let fault: Fault | undefined;
    try {
      entry.models = await readList(this.#deps.upstream, vendor);
      entry.readAtMs = this.#nowMs();
      this.#learnPrices(vendor, entry.models);
    } catch (thrown) {
      fault = asFault(thrown);
      if (vendor.listedPrices && !entry.models) {
        this.#deps.log?.warn("a vendor's price list could not be read", {
          vendor: vendor.label,
          reason: messageOf(fault),
        });
      }
    }
    // Counted from the end, so that a vendor that hangs gets as long a break as one that refuses.
    entry.probedAtMs = this.#nowMs();
    return entry.probe = { checkedAt, latencyMs: Math.round(entry.probedAtMs - startedMs), fault };
  }

  #learnPrices(vendor: Vendor, models: readonly ListedModel[]): void {
    if (!vendor.listedPrices) return;
    const body = { data: models.map((model) => model.raw) };
    this.#deps.prices.learn(vendor.label, vendor.listedPrices(vendor.label, body));
  }

  #entryOf(vendor: Vendor): Entry {
    let entry = this.#entries.get(vendor.label);
    if (!entry) {
      entry = {
        models: undefined,
        readAtMs: -Infinity,
        probe: undefined,
        probedAtMs: -Infinity,
        pending: undefined,
      };
      this.#entries.set(vendor.label, entry);
    }
    return entry;
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }
}

function asFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  // Only our own time-out aborts; all else is an answer that can't be read.
  const code = isAbort(thrown) ? "upstream_timeout" : "upstream_invalid_response";
  return new Fault(code, { cause: thrown });
}

/**
 * Reads the vendor's list now, with the first of the service's keys that the vendor doesn't refuse.
 * Throws `Fault`, an abort (`isAbort`) when a page takes 15 seconds, or a SyntaxError for text that
 * isn't JSON.
 */
export async function readList(upstream: Upstream, vendor: Vendor): Promise<ListedModel[]> {
  let refusal: Fault | undefined;
  for (const key of vendor.apiKeys) {
    try {
      return await readListWith(upstream, vendor, key);
    } catch (thrown) {
      const isRefused = thrown instanceof Fault && thrown.code === "upstream_authentication_failed";
      if (!isRefused) throw thrown;
      refusal = thrown;
    }
  }
  throw refusal ?? notConfigured(vendor);
}

async function readListWith(
  upstream: Upstream,
  vendor: Vendor,
  key: Secret,
): Promise<ListedModel[]> {
  // Clients page by the last id: one that is listed twice would lead them back.
  const models = new Map<string, ListedModel>();
  const room: ListRoom = { bytes: maxListBytes, values: maxListValues };
  let query: string = firstPage[vendor.modelsFormat];
  for (let page = 0; page < maxPages; page++) {
    const json = parsePage(await readPage(upstream, { vendor, key, query }, room), room);
    for (const model of readEntries(json)) {
      if (!models.has(model.id)) models.set(model.id, model);
    }
    const next = nextPage(json);
    if (next === undefined) break;
    query = next;
  }
  return [...models.values()];
}

/**
 * The fault for a managed call to a vendor that the service has no key for (docs/configuration.md).
 */
export function notConfigured({ label, keyVariable }: Vendor): Fault {
  const operators = keyVariable === undefined ? "" : ` The operator can set ${keyVariable}.`;
  return new Fault("vendor_not_configured", {
    message:
      `${label} has no key on this service. Store a vendor key, or send 'Authorization: Bearer <API_KEY>;<VENDOR_KEY>'.${operators}`,
  });
}

/** What is left of the caps for a list's further pages. */
interface ListRoom {
  bytes: number;
  values: number;
}

async function readPage(
  upstream: Upstream,
  { vendor, key, query }: { vendor: Vendor; key: Secret; query: string },
  room: ListRoom,
): Promise<Uint8Array> {
  const answer = await upstream.call({
    url: vendor.baseUrl + vendor.modelsPath + query,
    method: "GET",
    headers: vendorHeaders(vendor, key, { header: () => undefined }, {
      sameDialect: false,
      isOwnKey: false,
    }),
    signal: AbortSignal.timeout(15_000),
  });
  const bytes = await answer.body.readAll(room.bytes);
  if (answer.status === 401 || answer.status === 403) {
    throw new Fault("upstream_authentication_failed");
  }
  if (answer.status !== 200) {
    throw new Fault("upstream_error", {
      message: `${vendor.label} answered its model list with status ${answer.status}.`,
    });
  }
  return bytes;
}

/** Parses a page, and subtracts it from the room. Throws as `readList` does. */
function parsePage(bytes: Uint8Array, room: ListRoom): JsonRecord {
  const text = new TextDecoder().decode(bytes);
  const count = new JsonCount({ ...jsonLimits, values: room.values });
  const excess = count.add(text);
  if (excess !== undefined) {
    throw new Fault("upstream_invalid_response", { note: `a model list with too many ${excess}` });
  }
  room.bytes -= bytes.length;
  room.values -= count.values;
  const json: unknown = parseExactly(text);
  if (Array.isArray(json)) return { data: json };
  if (!isRecord(json)) throw new Fault("upstream_invalid_response");
  return json;
}

const firstPage = { openai: "", anthropic: "?limit=1000", google: "?pageSize=1000" } as const;

function nextPage(json: JsonRecord): string | undefined {
  const token = asString(json.nextPageToken);
  if (token) return `?pageSize=1000&pageToken=${encodeURIComponent(token)}`;
  const last = asString(json.last_id);
  return json.has_more === true && last
    ? `?limit=1000&after_id=${encodeURIComponent(last)}`
    : undefined;
}

/** Entries of any of the three list formats: `data` with `id`, or `models` with `name`. */
function readEntries(json: JsonRecord): ListedModel[] {
  const list = Array.isArray(json.data) ? json.data : json.models;
  // An error with status 200, or some other service's page: throw, so that the last good list
  // stays.
  if (!Array.isArray(list)) throw new Fault("upstream_invalid_response");
  return list.filter(isRecord).flatMap((raw) => {
    const id = asString(raw.id) ?? asString(raw.name)?.replace(/^models\//, "");
    if (id === undefined) return [];
    return [{
      id,
      displayName: asString(raw.display_name) ?? asString(raw.displayName) ?? asString(raw.name),
      created: createdSeconds(raw),
      raw,
    }];
  });
}

function createdSeconds(raw: JsonRecord): number {
  if (typeof raw.created === "number") return Math.trunc(raw.created);
  const parsed = Date.parse(asString(raw.created_at) ?? "");
  return Number.isNaN(parsed) ? 0 : Math.trunc(parsed / 1000);
}
