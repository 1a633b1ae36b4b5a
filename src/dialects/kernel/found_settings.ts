import type { CanonicalRequest, RequestSettings, SettingName } from "./canonical_request.ts";
import type { JsonRecord } from "./json.ts";

/** The settings that a request has, each with its path in the caller's body. */
export class FoundSettings {
  readonly settings: { -readonly [Name in SettingName]?: NonNullable<RequestSettings[Name]> } = {};
  readonly paths: { -readonly [Name in SettingName]?: string } & CanonicalRequest["paths"] = {};
  readonly #request: JsonRecord;

  constructor(request: JsonRecord) {
    this.#request = request;
  }

  /**
   * Sets a setting, unless the value is undefined. Its path is the first of the given fields that
   * has a value; an empty text is none.
   */
  set<Name extends SettingName>(
    name: Name,
    value: RequestSettings[Name] | undefined,
    field: string,
    ...others: readonly string[]
  ): void {
    if (value === undefined) return;
    const isSet = (one: string) => (this.#request[one] ?? "") !== "";
    this.settings[name] = value as NonNullable<RequestSettings[Name]>;
    this.paths[name] = [field, ...others].find(isSet) ?? field;
  }
}
