import { z } from "zod";
import { shownName } from "../base/own_text.ts";
import type { AuditNote } from "../audit/audit.ts";
import { OptionError } from "../shared/fault.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { RealModels } from "./real_models.ts";
import type { Route, WeightedTarget } from "./route.ts";
import type { AccountPage } from "../shared/account_page.ts";

export const virtualModelLimits = {
  nameLength: 100,
  targets: 20,
  fallbacks: 20,
  weight: 1_000_000,
  perAccount: 500,
} as const;

/** The models that a virtual model leads to, named as they were written. */
export interface VirtualModelDefinition {
  readonly targets: readonly { readonly model: string; readonly weight: number }[];
  readonly fallbacks: readonly string[];
  readonly stickBy?: "session" | "user";
}

export interface StoredVirtualModel {
  accountId: number;
  name: string;
  definition: VirtualModelDefinition;
  createdAt: Date;
  updatedAt: Date;
}

/** One change as the processes' caches read it; a null definition means removed. */
export interface VirtualModelChange {
  accountId: number;
  name: string;
  definition: VirtualModelDefinition | null;
  createdAt: Date;
}

/** Returns a virtual model's new definition; `existing` is undefined where none has the name. */
export type VirtualModelChanger = (
  existing: VirtualModelDefinition | undefined,
) => VirtualModelDefinition;

/** The store of accounts' virtual models. Implemented in `src/routing/store/virtual_models.ts`. */
export interface VirtualModelStore {
  /**
   * Creates or replaces one. A function gets the existing definition, and no other change comes
   * between; if it throws, nothing changes. Undefined where the account has
   * `virtualModelLimits.perAccount` others already.
   */
  set(
    accountId: number,
    name: string,
    definition: VirtualModelDefinition | VirtualModelChanger,
    audit?: AuditNote | ((definition: VirtualModelDefinition) => AuditNote),
  ): Promise<StoredVirtualModel | undefined>;
  /** Removes one. False where there is none of this name. */
  remove(accountId: number, name: string, audit?: AuditNote): Promise<boolean>;
  /** Lists those of one account, or of all accounts, sorted by account and name. */
  list(accountId?: number, page?: AccountPage): Promise<StoredVirtualModel[]>;
  /** Returns what changed at or after a time of the database's clock; for null, all that exist. */
  changedSince(since: Date | null): Promise<{ now: Date; changes: VirtualModelChange[] }>;
  /** Deletes rows of virtual models that were removed more than this many minutes ago. */
  forgetRemoved(minutes: number): Promise<void>;
}

/** Checks a virtual model's name, and returns it. Throws `OptionError`. */
export function checkVirtualName(name: string): string {
  if (/^[A-Za-z0-9._:-]{1,100}$/.test(name)) return name;
  throw new OptionError(
    "name",
    `'${name.slice(0, 100)}' is not a name; expected 1 to 100 letters, digits and . _ : -`,
  );
}

const { targets: maxTargets, fallbacks: maxFallbacks, weight: maxWeight } = virtualModelLimits;
const modelName = "expected a model's name of 1 to 200 characters";
const targetForm = "expected a model's name, or an object with model and weight";
const targetList = `expected a list of 1 to ${maxTargets} targets`;
const fallbackList = `expected a list of at most ${maxFallbacks} model names`;
const wholeWeight = `expected a whole number from 1 to ${maxWeight}`;

const model = z.string(modelName).min(1, modelName).max(200, modelName);
const target = z.strictObject({
  model,
  weight: z.int(wholeWeight).min(1, wholeWeight).max(maxWeight, wholeWeight).default(1),
}, {
  error: ({ code }) =>
    code === "invalid_type" ? targetForm : "unknown field, expected model or weight",
});

const definitionSchema = z.strictObject({
  targets: z.array(
    z.preprocess((value) => typeof value === "string" ? { model: value } : value, target),
    targetList,
  ).min(1, targetList).max(maxTargets, targetList),
  fallbacks: z.array(model, fallbackList).max(maxFallbacks, fallbackList).default([]),
  stick_by: z.enum(["session", "user"], 'expected "session" or "user"').optional(),
}, {
  error: ({ code }) =>
    code === "invalid_type"
      ? 'expected an object such as {"targets": ["gpt-5-mini"]}'
      : "unknown field, expected targets, fallbacks or stick_by",
});

/**
 * Reads a definition from its JSON form: `{targets: [{model, weight?} or a name], fallbacks?:
 * [name], stick_by?: "session" | "user"}`. Throws `OptionError` for a wrong field, and for a
 * model that no vendor has or that is named twice.
 */
export function readVirtualModel(json: unknown, models: RealModels): VirtualModelDefinition {
  const [problem] = virtualModelProblems(json, models);
  if (problem) throw problem;
  const { targets, fallbacks, stick_by: stickBy } = definitionSchema.parse(json);
  return { targets, fallbacks, ...(stickBy ? { stickBy } : {}) };
}

/** Each list by itself, empty where it is wrong. */
const listsSchema = z.object({
  targets: definitionSchema.shape.targets.catch([]),
  fallbacks: definitionSchema.shape.fallbacks.catch([]),
}).catch({ targets: [], fallbacks: [] });

/** Returns why `readVirtualModel` refuses a definition: of each list only the first wrong model. */
export function virtualModelProblems(json: unknown, models: RealModels): OptionError[] {
  const { error } = definitionSchema.safeParse(json);
  const problems = error?.issues.map((issue) => {
    const unknown = issue.code === "unrecognized_keys" ? [shownName(issue.keys[0]!)] : [];
    return new OptionError(z.core.toDotPath([...issue.path, ...unknown]), issue.message);
  }) ?? [];
  const { targets, fallbacks } = listsSchema.parse(json);
  const fieldsById = new Map<string, string>();
  const problemOf = (name: string, field: string) => {
    const found = models.find(name);
    if (!found) {
      const reason = models.refusal(name).message.replace(/^model: /, "");
      return new OptionError(field, `${reason} Virtual models can't be targets`);
    }
    const other = fieldsById.get(found.id);
    if (other !== undefined) return new OptionError(field, `'${name}' is ${other} already`);
    fieldsById.set(found.id, field);
    return undefined;
  };
  const first = (names: readonly string[], fieldAt: (index: number) => string) => {
    for (const [index, name] of names.entries()) {
      const problem = problemOf(name, fieldAt(index));
      if (problem) return [problem];
    }
    return [];
  };
  return [
    ...problems,
    ...first(targets.map(({ model }) => model), (index) => `targets[${index}].model`),
    ...first(fallbacks, (index) => `fallbacks[${index}]`),
  ];
}

/**
 * Describes a definition for people: `gpt-5-mini (9), claude-haiku-4-5 (1), else gemini-2.5-flash`.
 */
export function shownTargets({ targets, fallbacks }: VirtualModelDefinition): string {
  const shown = targets.length === 1
    ? targets[0]!.model
    : targets.map(({ model, weight }) => `${model} (${weight})`).join(", ");
  return fallbacks.length === 0 ? shown : `${shown}, else ${fallbacks.join(", ")}`;
}

/** The JSON form of a definition, as `readVirtualModel` takes it. */
export function virtualModelJson({ targets, fallbacks, stickBy }: VirtualModelDefinition) {
  return { targets, fallbacks, ...(stickBy ? { stick_by: stickBy } : {}) };
}

/**
 * Returns the route of a virtual model. Models that don't exist any more are left out, with
 * `onMissing` called for each; undefined where no target is left.
 */
export function virtualRoute(
  name: string,
  { targets, fallbacks, stickBy }: VirtualModelDefinition,
  models: RealModels,
  onMissing: (model: string) => void,
): Route | undefined {
  const resolve = (model: string): ResolvedModel[] => {
    const found = models.find(model);
    if (found) return [{ ...found, through: name }];
    onMissing(model);
    return [];
  };
  const [first, ...others] = targets
    .flatMap(({ model, weight }): WeightedTarget[] =>
      resolve(model).map((target) => ({ target, weight }))
    )
    .sort((a, b) => b.weight - a.weight);
  return first && {
    name,
    isVirtual: true,
    targets: [first, ...others],
    fallbacks: fallbacks.flatMap(resolve),
    ...(stickBy ? { stickBy } : {}),
  };
}
