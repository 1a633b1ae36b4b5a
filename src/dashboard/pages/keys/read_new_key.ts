import { readStatedUsd } from "../../../base/money.ts";
import type {
  ApiKey,
  ApiKeyChange,
  NewApiKey,
  OnDisconnect,
  TranslationMode,
} from "../../../keys/api_key.ts";
import { missingCap } from "../../../keys/key_defaults.ts";
import { memberScopes, requiresOwner } from "../../../keys/scopes.ts";
import { cacheTtlForm, readCacheTtl } from "../../../response_cache/cache_ttl.ts";
import { sentence } from "../../faults.ts";
import type { Form } from "../../form.ts";
import { readTime, shortText } from "../../format.ts";

/** The settings of a new key that come from the form. */
export interface WantedKey extends Omit<NewApiKey, "id" | "accountId" | "prefix" | "hash"> {
  environment: string;
}

export const environments = ["production", "staging", "development", "CI/CD"] as const;
const onDisconnects: readonly OnDisconnect[] = ["cancel", "drain"];
const translationModes: readonly TranslationMode[] = ["default", "strict", "lenient"];

/**
 * Reads the form; `wanted` is absent if there are `fieldErrors`. `scopes` includes those that only
 * owners may give, which are refused to others. `isModel` says whether calls of
 * the account may name a model so.
 */
export function readNewKey(
  form: Form,
  scopes: readonly string[],
  now: Date,
  isOwner: boolean,
  isModel: (name: string) => boolean,
): { wanted?: WantedKey; fieldErrors: Record<string, string> } {
  const { take, fieldErrors } = collectErrors();
  const wanted: WantedKey = {
    name: take("name", () => nameOf(form.text("name")), ""),
    environment: environments.find((one) => one === form.text("environment")) ?? "",
    scopes: take("scopes", () => scopesOf(form, scopes, isOwner), []),
    models: take("models", () => modelsOf(form.text("models"), isModel), []),
    expiresAt: take("expires", () => endOf(form, now), null),
    capDayNanos: take("cap_day", () => capOf(form.text("cap_day")), null),
    capMonthNanos: take("cap_month", () => capOf(form.text("cap_month")), null),
    onDisconnect: onDisconnects.find((one) => one === form.text("on_disconnect")) ?? "cancel",
    translationMode: translationModes.find((one) => one === form.text("translation_mode")) ??
      "default",
    promptCache: form.text("prompt_cache") !== "off",
    ...take("cache_ttl", () => cacheTtlOf(form.text("cache_ttl")), {}),
    ...(form.text("record") === "metadata" ? { recording: "metadata" as const } : {}),
  };
  return Object.keys(fieldErrors).length === 0 ? { wanted, fieldErrors } : { fieldErrors };
}

/**
 * Reads what a form changes of a key. A field that still has the value that the page showed
 * (`shownField`) changes nothing, so that a new name doesn't bring back a cap that was lowered
 * meanwhile.
 */
export function readKeyChange(
  form: Form,
  /** Its caps and defaults are checked together with what the form changes. */
  key: Pick<ApiKey, "capDayNanos" | "capMonthNanos" | "defaults">,
): { wanted?: ApiKeyChange; fieldErrors: Record<string, string> } {
  const { take, fieldErrors } = collectErrors();
  const values = form.values();
  const isChanged = (field: string) => values[shownField(field)]?.[0]?.trim() !== form.text(field);
  const readCap = (field: string) => take(field, () => capOf(form.text(field)), null);
  const wanted: ApiKeyChange = {
    ...(isChanged("name") && { name: take("name", () => nameOf(form.text("name")), "") }),
    ...(isChanged("cap_day") && { capDayNanos: readCap("cap_day") }),
    ...(isChanged("cap_month") && { capMonthNanos: readCap("cap_month") }),
  };
  const lack = missingCap({ ...key, ...wanted });
  if (lack !== undefined) {
    fieldErrors.cap_day ??=
      `This key expects fewer output tokens than a call may have: it needs ${lack}.`;
  }
  return Object.keys(fieldErrors).length === 0 ? { wanted, fieldErrors } : { fieldErrors };
}

/** Returns the name of the hidden field with a field's value as its page showed it at first. */
export function shownField(field: string): string {
  return `shown_${field}`;
}

/** Collects errors by field: `take` notes the error of `read` and returns `otherwise`. */
function collectErrors() {
  const fieldErrors: Record<string, string> = {};
  const take = <T>(field: string, read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (thrown) {
      fieldErrors[field] = thrown instanceof Error ? thrown.message : "Not valid";
      return otherwise;
    }
  };
  return { fieldErrors, take };
}

function nameOf(name: string): string {
  if (name === "") throw new Error("Enter a name, such as “checkout service”.");
  if (name.length > 200) throw new Error("At most 200 characters.");
  if (/\p{Cc}/u.test(name)) throw new Error("Leave out line breaks and control characters.");
  return name;
}

function scopesOf(form: Form, allScopes: readonly string[], isOwner: boolean): string[] {
  const chosen = allScopes.filter((scope) => form.all("scope").includes(scope));
  if (form.text("access") !== "some") {
    // Whoever checked some and overlooked the choice above them would get a key for everything.
    if (chosen.length > 0) {
      throw new Error("Choose “Only these endpoints”, or check none for everything.");
    }
    // Others than owners get each scope by name, since an empty list means every scope.
    return isOwner ? [] : memberScopes(allScopes);
  }
  // An empty list would mean every scope here, too.
  if (chosen.length === 0) throw new Error("Choose at least one, or everything.");
  if (!isOwner && requiresOwner(chosen)) {
    const [scope] = chosen.filter((one) => requiresOwner([one]));
    throw new Error(`Only an owner can give the scope ${scope}.`);
  }
  return chosen;
}

function modelsOf(text: string, isModel: (name: string) => boolean): string[] {
  const models = [...new Set(text.split(/[\s,]+/).filter((one) => one !== ""))];
  if (models.length > 200) throw new Error("At most 200 models.");
  const invalidModel = models.find((one) => !isModel(one));
  if (invalidModel === undefined) return models;
  throw new Error(
    `“${shortText(invalidModel, 60)}” is not a model; expected one such as openai/gpt-5-mini.`,
  );
}

function endOf(form: Form, now: Date): Date | null {
  const choice = form.text("expires");
  if (choice === "" || choice === "never") return null;
  const days = { "30": 30, "90": 90, "365": 365 }[choice];
  if (days !== undefined) return new Date(now.getTime() + days * 86_400_000);
  const day = readTime(form.text("expires_on"), { hasTime: false });
  if (day === undefined) {
    throw new Error("Enter the last day on which the key works, such as 31 Dec 2026.");
  }
  const at = new Date(day.getTime() + 86_400_000 - 1);
  if (at <= now) throw new Error("Choose a day in the future.");
  return at;
}

function cacheTtlOf(text: string): Pick<WantedKey, "cacheTtlSeconds"> {
  if (text === "") return {};
  const cacheTtlSeconds = readCacheTtl(text);
  if (cacheTtlSeconds !== undefined) return { cacheTtlSeconds };
  throw new Error(`Expected ${cacheTtlForm}.`);
}

function capOf(text: string): bigint | null {
  if (text === "") return null;
  return readStatedUsd(text, (expected) => new Error(`${sentence(expected)}.`));
}
