import { invalidValue } from "../../../../shared/fault.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { inOptions } from "../../../kernel/vendor_options.ts";

/**
 * One object of a caller's request, and its path. The wire accepts every field in two spellings,
 * `systemInstruction` and `system_instruction`: code uses the first, paths show the caller's.
 */
export class Fields {
  readonly record: JsonRecord;
  /** Path in the body, such as `contents[0].parts[1]`; empty for the body itself. */
  readonly path: string;
  #snakes: boolean | undefined;

  constructor(record: JsonRecord, path: string) {
    this.record = record;
    this.path = path;
  }

  /**
   * Returns the caller's spelling of a field; `name` itself when the field isn't there. Throws
   * `invalid_value` if both spellings are there, since the vendor might read the other one: credit
   * held for one output token would pay for thousands.
   */
  key(name: string): string {
    if (!this.#hasSnakes()) return name;
    const snake = snakeCase(name);
    if (!Object.hasOwn(this.record, snake)) return name;
    if (snake === name || !Object.hasOwn(this.record, name)) return snake;
    throw invalidValue(this.path === "" ? snake : `${this.path}.${snake}`, "duplicate field");
  }

  /**
   * Whether any field contains an underscore. Most requests use only camel case, and skip the
   * lookup.
   */
  #hasSnakes(): boolean {
    if (this.#snakes === undefined) {
      this.#snakes = false;
      for (const key in this.record) if (key.includes("_")) this.#snakes = true;
    }
    return this.#snakes;
  }

  /** Returns the value of a field; null counts as undefined in this format. */
  value(name: string): unknown {
    const key = this.key(name);
    return Object.hasOwn(this.record, key) ? this.record[key] ?? undefined : undefined;
  }

  has(name: string): boolean {
    return this.value(name) !== undefined;
  }

  at(name: string): string {
    const key = this.key(name);
    return this.path === "" ? key : `${this.path}.${key}`;
  }

  string(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "string") return value;
    throw invalidValue(this.at(name), "expected a string");
  }

  /** Reads a number, or a string of digits, as this format writes 64-bit integers. */
  number(name: string): number | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "number") return value;
    if (typeof value === "string" && /^-?\d+$/.test(value)) return Number(value);
    throw invalidValue(this.at(name), "expected a number");
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw invalidValue(this.at(name), "expected true or false");
  }

  object(name: string): Fields | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!isRecord(value)) throw invalidValue(this.at(name), "expected an object");
    return new Fields(value, this.at(name));
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.value(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw invalidValue(this.at(name), "expected an array");
  }

  strings(name: string): string[] | undefined {
    return this.list(name)?.map((one, index) => {
      if (typeof one !== "string") {
        throw invalidValue(`${this.at(name)}[${index}]`, "expected a string");
      }
      return one;
    });
  }

  /**
   * Reads a list of objects. A single object is accepted in its place, as in the vendor's own
   * samples.
   */
  objects(name: string): Fields[] {
    const value = this.value(name);
    const list = isRecord(value) ? [value] : this.list(name) ?? [];
    return list.map((one, index) => {
      const path = `${this.at(name)}[${index}]`;
      if (!isRecord(one)) throw invalidValue(path, "expected an object");
      return new Fields(one, path);
    });
  }

  /** Returns the fields that are set and not among `knownFields`; `name` is in camel case. */
  others(
    knownFields: JsonRecord,
  ): { name: string; path: string; value: unknown }[] {
    return Object.entries(this.record)
      .filter(([key, value]) => value !== null && !Object.hasOwn(knownFields, camelCase(key)))
      .map(([key, value]) => ({ name: camelCase(key), path: this.at(key), value }));
  }
}

export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Returns a vendor's options with their names, and those in their `generationConfig`, in camel
 * case. Throws `invalid_value` for a name in both spellings, as for a request's fields.
 */
export function camelNames(options: JsonRecord): JsonRecord {
  const { generationConfig: config, ...others } = renamed(options);
  if (config === undefined) return others;
  const path = new Fields(options, "").at("generationConfig");
  return { ...others, generationConfig: isRecord(config) ? renamed(config, path) : config };
}

function renamed(options: JsonRecord, path = ""): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) {
    const name = camelCase(key);
    if (Object.hasOwn(found, name)) {
      throw invalidValue(inOptions(path === "" ? key : `${path}.${key}`), "duplicate field");
    }
    found[name] = value;
  }
  return found;
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
