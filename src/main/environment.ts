import { parseStatedUsd, statedUsdForm } from "../base/money.ts";
import { baseUrlForm, isBaseUrl } from "../base/base_url.ts";
import { withoutEnd } from "../base/trim.ts";
import { lacksOneWord, nearestNames } from "../base/nearest_names.ts";
import { Secret } from "../base/secret.ts";
import { isMasterKey, masterKeyForm } from "../keys/sealing.ts";
import { isHostEntry } from "../vendors/public_target.ts";

/** An invalid value in the environment; the message is one line for the operator. */
export class ConfigError extends Error {
  override name = "ConfigError";

  constructor(message: string) {
    // Shows a multi-line value in one line.
    super(message.replace(/[\r\n]+/g, " "));
  }
}

/**
 * Reads variables, one method per kind of value. An empty value counts as not set; an invalid one
 * throws a `ConfigError` with the variable, its value (masked if secret) and what it accepts.
 */
export class EnvironmentReader {
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #asked = new Set<string>();

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    this.#environment = environment;
  }

  text(name: string): string | undefined {
    const value = this.textAsIs(name);
    // `docker run --env-file` and the like pass on quotes, which a shell would remove.
    if (value === undefined || !isQuoted(value)) return value;
    throw new ConfigError(`${name} is not valid: expected a value without quotes around it.`);
  }

  /** Reads a value that may have quotes around it. */
  textAsIs(name: string): string | undefined {
    this.#asked.add(name);
    return this.#environment[name]?.trim() || undefined;
  }

  /**
   * Returns the variables that are set, that nothing has read so far, and that look like ours: by
   * their prefix, or because they differ from one of ours by a typo or lack one of its words. Each
   * with the nearest of ours.
   */
  unknown(): UnknownVariable[] {
    const names = Object.keys(this.#environment).filter((name) =>
      !this.#asked.has(name) && !otherPrograms.test(name) &&
      Boolean(this.#environment[name]?.trim())
    );
    return names.sort().flatMap((name) => {
      const nearest = nearestNames(name, this.#asked, 1)[0] ?? this.#withOneWordMore(name);
      const isOurs = ownBeginnings.some((beginning) => name.startsWith(beginning));
      // The first letters must agree: SSL_CERT_FILE, XDG_DATA_DIR and the like are other programs'.
      const isSlip = nearest !== undefined && nearest[0] === name[0] && name.length > 5;
      return isOurs || isSlip ? [{ name, nearest }] : [];
    });
  }

  /** The variable of ours that has a word more, such as `OPENAI_API_KEY` for `OPENAI_KEY`. */
  #withOneWordMore(name: string): string | undefined {
    if (!name.includes("_")) return undefined;
    return [...this.#asked].sort().find((asked) => lacksOneWord(name, asked));
  }

  list(name: string): string[] {
    return (this.text(name) ?? "").split(",").map((one) => one.trim()).filter((one) => one !== "");
  }

  integer(name: string, range: { min: number; max: number }): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = /^\d{1,16}$/.test(value) ? Number(value) : NaN;
    if (number >= range.min && number <= range.max) return number;
    throw invalid(name, value, `a whole number from ${range.min} to ${range.max}`);
  }

  bytes(name: string): number | undefined {
    return this.integer(name, { min: 1, max: 2 ** 50 });
  }

  milliseconds(name: string): number | undefined {
    return this.integer(name, { min: 1, max: 3_600_000 });
  }

  flag(name: string): boolean | undefined {
    const value = this.text(name)?.toLowerCase();
    if (value === undefined) return undefined;
    if (value === "true" || value === "1") return true;
    if (value === "false" || value === "0") return false;
    throw invalid(name, value, "true or false");
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = values.find((one) => one === value);
    if (found !== undefined) return found;
    throw invalid(name, value, values.join(" or "));
  }

  secret(name: string): Secret | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : new Secret(value);
  }

  /** Reads a secret that others send in a header, in which they encode other characters variously. */
  token(name: string): Secret | undefined {
    const secret = this.secret(name);
    if (secret === undefined || isHeaderText(secret.reveal())) return secret;
    throw invalid(name, masked, "printable ASCII characters without spaces");
  }

  /** Reads keys to send in headers: one, or several separated by commas. */
  headerSecret(name: string): Secret | undefined {
    if (this.text(name) === undefined) return undefined;
    const keys = this.list(name);
    if (keys.length === 0 || !keys.every(isHeaderText)) {
      throw invalid(
        name,
        masked,
        "a key of printable ASCII characters without spaces, or several separated by commas",
      );
    }
    if (new Set(keys).size < keys.length) throw invalid(name, masked, "each key only once");
    if (keys.length > maxKeys) throw invalid(name, masked, `at most ${maxKeys} keys`);
    return new Secret(keys.join(","));
  }

  masterKey(name: string): Secret | undefined {
    const secret = this.secret(name);
    if (secret === undefined || isMasterKey(secret)) return secret;
    throw invalid(name, masked, masterKeyForm);
  }

  databaseUrl(name: string): Secret | undefined {
    const secret = this.secret(name);
    if (secret === undefined) return undefined;
    const url = secret.reveal();
    const { protocol, hostname } = URL.canParse(url)
      ? new URL(url)
      : { protocol: "", hostname: "" };
    // Of several hosts, as libpq takes them, only the first would be used.
    if (/^postgres(ql)?:$/.test(protocol) && !hostname.includes(",")) return secret;
    const form =
      "a URL such as postgres://user:password@host:5432/database, with one host and with special characters of the password percent-encoded";
    throw invalid(name, masked, form);
  }

  /** Reads an http or https URL; returns it without trailing slashes. */
  url(name: string): string | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const url = URL.canParse(value) ? new URL(value) : undefined;
    const hasCredentials = Boolean(url?.username || url?.password);
    if (url && /^https?:$/.test(url.protocol) && !hasCredentials) return withoutEnd(value, "/");
    const shown = value.includes("@") ? masked : value;
    throw invalid(name, shown, "a URL such as https://api.example.com, without credentials");
  }

  /** Reads a URL to which paths are appended. */
  baseUrl(name: string): string | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (isBaseUrl(value)) return withoutEnd(value, "/");
    throw invalid(name, /[@?]/.test(value) ? masked : value, baseUrlForm);
  }

  origins(name: string): string[] {
    return this.list(name).map((one) => {
      if (URL.canParse(one) && new URL(one).origin === one) return one;
      throw invalid(name, one, "origins such as https://app.example.com, separated by commas");
    });
  }

  /** Reads a host name or an IP address. */
  host(name: string): string | undefined {
    const value = this.text(name);
    if (value === undefined || /^[\w.-]+$/.test(value)) return value;
    const ipv6 = /^\[?([\da-f:.]+)(?:%\w+)?\]?$/i.exec(value)?.[1];
    if (ipv6 !== undefined && URL.canParse(`http://[${ipv6}]`)) return value;
    throw invalid(
      name,
      value,
      "an address of this machine, without a port, such as 127.0.0.1 or 0.0.0.0",
    );
  }

  /** Entries for `createPermit`. */
  hosts(name: string): string[] {
    return this.list(name).map((one) => {
      if (isHostEntry(one)) return one;
      const form = "host names such as files.internal or 10.0.0.7:9000, separated by commas";
      throw invalid(name, one, form);
    });
  }

  domains(name: string): string[] {
    return this.list(name).map((one) => {
      if (/^[\w.-]+$/.test(one)) return one.toLowerCase();
      throw invalid(name, one, "domains such as example.com, separated by commas");
    });
  }

  /** Pairs such as `name=value,other=value`, percent-encoded as in a baggage header. */
  pairs(name: string, isSecret = false): Record<string, string> {
    const pairs: Record<string, string> = {};
    for (const one of this.list(name)) {
      const at = one.indexOf("=");
      const [key, value] = [one.slice(0, Math.max(at, 0)).trim(), one.slice(at + 1).trim()];
      try {
        if (!/^[\w.-]+$/.test(key)) throw new Error("no name");
        pairs[key] = decodeURIComponent(value);
      } catch {
        const shown = isSecret ? masked : one;
        throw invalid(name, shown, "pairs such as name=value, separated by commas");
      }
    }
    return pairs;
  }

  /** An amount in US dollars, as nano-dollars. */
  usd(name: string): bigint | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    try {
      return parseStatedUsd(value);
    } catch {
      throw invalid(name, value, statedUsdForm);
    }
  }

  /** Path of an existing file. */
  file(name: string): string | undefined {
    const path = this.text(name);
    if (path === undefined) return undefined;
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch {
      // Falls through to the same error.
    }
    throw invalid(name, path, "a file that can be read");
  }
}

export interface UnknownVariable {
  name: string;
  /** The variable that it may misspell. */
  nearest: string | undefined;
}

/** Prefixes that no other program's variables have. */
const ownBeginnings = [
  ...["VENDOR_", "OAUTH_", "EXPORT_", "RETENTION_", "CALLER_", "JOURNAL_", "BODIES_", "PAYLOAD_"],
  ...["STREAMS_", "BACKGROUND_CALL", "STARTING_", "CONNECTIONS_", "LEASE_", "DEMETER_"],
];

/** Like ours, but of libpq, of systemd, and of Kubernetes beside a Service called `demeter`. */
const otherPrograms = /^(PG[A-Z]+|JOURNAL_STREAM|DEMETER_(SERVICE_(HOST|PORT)|PORT)(_\w+)?)$/;

function isHeaderText(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value);
}

function isQuoted(value: string): boolean {
  return /^["']/.test(value) && value.length > 1 && value.at(-1) === value[0];
}

const masked = "****";

/** Limit on the keys of one vendor. */
const maxKeys = 100;

function invalid(name: string, shown: string, expected: string): ConfigError {
  return new ConfigError(`${name}=${shown} is not valid: expected ${expected}.`);
}
