import {
  checkVirtualName,
  type VirtualModelDefinition,
  virtualModelJson,
  virtualModelLimits,
} from "../../../routing/virtual_model.ts";
import { sha256Hex } from "../../../base/hash.ts";
import { Fault, OptionError } from "../../../shared/fault.ts";
import {
  NotFound,
  orNotFound,
  type Outcome,
  type Page,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import { actionsColumn, Badge, PostForm, RowLink, Table, TimeCell } from "../../components.tsx";
import { confirmationRoutes } from "../../confirmation.tsx";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { type FieldErrors, sentence } from "../../faults.ts";
import {
  blankForm,
  FormButtons,
  FormError,
  listOf,
  type Option,
  SelectField,
  type Shown,
  TextArea,
  TextField,
} from "../../fields.tsx";
import type { Form } from "../../form.ts";
import { settingsList } from "./settings_page.tsx";

const address = "/dashboard/settings/models";

/** Pages that list, create, change and remove virtual models. */
export function virtualModelRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request));
  app.get(
    `${address}/csv`,
    "viewer",
    async (request) => csvFile("virtual-models", columns, await shownModels(ctx, request)),
  );
  app.get(`${address}/new`, "owner", (request) => formPage(ctx, request, blankForm));
  app.post(`${address}/new`, "owner", (form, request) => set(ctx, form, request));
  app.get(`${address}/change`, "owner", async (request) => {
    const { name, definition } = await modelOf(ctx, request, request.query("name"));
    return formPage(ctx, request, { values: valuesOf(definition), fieldErrors: {} }, name);
  });
  app.post(`${address}/change`, "owner", (form, request) => {
    const name = request.query("name");
    if (name === undefined) throw new NotFound();
    return set(ctx, form, request, name);
  });
  confirmationRoutes(app, {
    ...{ path: `${address}/remove`, back: address, role: "owner", section: "settings" },
    ...{ title: "Remove virtual model", button: "Remove" },
    find: (request) => modelOf(ctx, request, request.query("name")),
    consequence: ({ name }) => (
      <p>
        Calls that name <code>{name}</code>{" "}
        are refused from then on, unless the service or a vendor has a model of this name.
      </p>
    ),
    async act({ name }, request) {
      const note = request.note("virtual_model.removed", name);
      await ctx.virtualModels.remove(request.accountId, name, note);
      const text = `The virtual model ${name} is removed.`;
      return { to: address, notice: { kind: "done", text } };
    },
  });
}

async function modelOf(ctx: PageContext, request: PageRequest, name: string | undefined) {
  const models = await ctx.virtualModels.list(request.accountId);
  return orNotFound(models.find((one) => one.name === name));
}

async function set(
  ctx: PageContext,
  form: Form,
  request: PageRequest,
  changed?: string,
): Promise<Outcome> {
  const name = changed ?? form.text("name");
  const values = form.values();
  const json = requestOf(form);
  try {
    const shown = json.targets.map((one) => typeof one === "string" ? one : one.model).join(", ");
    const note = request.note("virtual_model.set", name, shown);
    if (changed === undefined) {
      await ctx.virtualModels.create(request.accountId, name, json, note);
    } else {
      await ctx.virtualModels.change(request.accountId, name, (existing) => {
        const isStale = values.version?.[0] !== versionOf(existing);
        values.version = [versionOf(existing)];
        if (isStale) throw new OptionError("", changedMeanwhile(existing));
        return { stick_by: null, ...json };
      }, note);
    }
  } catch (thrown) {
    if (values.version && thrown instanceof Fault && thrown.code === "model_not_found") {
      const shown = { values: { ...values, name: [name] }, fieldErrors: { "": removedMeanwhile } };
      return { ...formPage(ctx, request, shown), status: 400 };
    }
    const isTaken = thrown instanceof Fault && thrown.code === "already_exists";
    const refused = thrown instanceof OptionError ? fieldErrorsOf(thrown, form) : undefined;
    if (!isTaken && !refused) throw thrown;
    const fieldErrors = {
      ...changed === undefined ? await nameError(ctx, request, name) : {},
      ...listErrors(ctx, json, form),
      ...refused ?? { name: taken },
    };
    return { ...formPage(ctx, request, { values, fieldErrors }, changed), status: 400 };
  }
  const text = `Calls to ${name} go to its targets from now on.`;
  return { to: address, notice: { kind: "done", text } };
}

/** Identifies what a form showed, so that it replaces nothing that was saved since. */
function versionOf(definition: VirtualModelDefinition): string {
  return sha256Hex(JSON.stringify(virtualModelJson(definition)));
}

function changedMeanwhile({ targets, fallbacks, stickBy }: VirtualModelDefinition): string {
  const now = [
    `targets: ${targets.map(({ model, weight }) => `${model} ${weight}`).join(", ")}`,
    `fallbacks: ${fallbacks.length === 0 ? "none" : fallbacks.join(", ")}`,
    `same target for: ${stickBy ? stickNames.get(stickBy) : "none"}`,
  ];
  return `Nothing is saved: this virtual model was changed after you opened the page. It has ${
    now.join("; ")
  }. Save again to replace that`;
}

const removedMeanwhile =
  "Nothing is saved: this virtual model was removed after you opened the page. Create it again, or cancel.";

/** Returns the error of a name that is invalid or taken, which `create` checks last. */
async function nameError(
  ctx: PageContext,
  { accountId }: PageRequest,
  name: string,
): Promise<FieldErrors> {
  try {
    checkVirtualName(name);
  } catch (thrown) {
    if (!(thrown instanceof OptionError)) throw thrown;
    return { name: `${sentence(thrown.problem)}.` };
  }
  const models = await ctx.virtualModels.list(accountId);
  if (models.every((one) => one.name !== name)) return {};
  return { name: taken };
}

const taken = "A virtual model of this name already exists.";

/** Returns the first error of each field but the name, as `create` stops at the first of all. */
function listErrors(ctx: PageContext, json: unknown, form: Form): FieldErrors {
  const problems = ctx.virtualModels.problemsOf(json).toReversed();
  return Object.assign({}, ...problems.map((one) => fieldErrorsOf(one, form)));
}

/** Returns the form as the API's JSON. A line of the targets is a model and maybe its weight. */
function requestOf(form: Form) {
  const targets = listOf(form.text("targets")).map((line) => {
    const [model = "", weight, ...rest] = line.split(/\s+/);
    if (weight === undefined) return model;
    const isNumber = rest.length === 0 && /^\d{1,9}$/.test(weight);
    return { model, weight: isNumber ? Number(weight) : line.slice(model.length).trim() };
  });
  const fallbacks = listOf(form.text("fallbacks"));
  return { targets, fallbacks, ...form.filled("stick_by") };
}

/** Returns the error by the form's field; for a list it names the line, as it was typed. */
function fieldErrorsOf({ field, problem }: OptionError, form: Form): FieldErrors {
  const [, list = "", index] = /^(\w+)(?:\[(\d+)\])?/.exec(field) ?? [];
  const text = `${sentence(problem)}.`;
  if (index === undefined) return { [list]: text };
  const typed = form.values()[list]?.[0] ?? "";
  const entry = listOf(typed)[Number(index)];
  const line = typed.split(/\r\n?|\n/).findIndex((one) => one.trim() === entry) + 1;
  return { [list]: `Line ${line}: ${text}` };
}

function valuesOf(definition: VirtualModelDefinition): Shown["values"] {
  const { targets, fallbacks, stickBy } = definition;
  return {
    targets: [targets.map(({ model, weight }) => `${model} ${weight}`).join("\n")],
    fallbacks: [fallbacks.join("\n")],
    stick_by: [stickBy ?? ""],
    version: [versionOf(definition)],
  };
}

interface ShownModel {
  name: string;
  definition: VirtualModelDefinition;
  /** Undefined for a model of the service. */
  updatedAt?: Date;
}

/** Lists the account's own virtual models, then those of the service that it hasn't replaced. */
async function shownModels(ctx: PageContext, request: PageRequest): Promise<ShownModel[]> {
  const own = await ctx.virtualModels.list(request.accountId);
  const names = new Set(own.map(({ name }) => name));
  return [...own, ...ctx.virtualModels.listOfService().filter(({ name }) => !names.has(name))];
}

const columns: CsvColumns<ShownModel> = {
  name: ({ name }) => name,
  targets: ({ definition: { targets } }) =>
    targets.map(({ model, weight }) => `${model} ${weight}`).join("; "),
  fallbacks: ({ definition: { fallbacks } }) => fallbacks.join("; "),
  stays_with: ({ definition: { stickBy } }) => stickBy ?? null,
  changed_at: ({ updatedAt }) => updatedAt ?? null,
};

async function listPage(ctx: PageContext, request: PageRequest): Promise<Page> {
  const models = await shownModels(ctx, request);
  return settingsList("models", request, {
    lead:
      "A name of your own that calls may use as their model. Calls are shared out among its targets by weight; where one fails before it answers, another one is asked.",
    add: request.may("owner")
      ? { href: `${address}/new`, text: "Create a virtual model" }
      : undefined,
    empty: {
      title: "No virtual models yet",
      text: "Calls use vendors' model names, such as gpt-5-mini.",
    },
    table: models.length === 0 ? null : <ModelTable models={models} request={request} />,
  });
}

function ModelTable({ models, request }: { models: readonly ShownModel[]; request: PageRequest }) {
  const mayChange = request.may("owner");
  return (
    <Table
      label="Virtual models"
      csv={`${address}/csv`}
      cards
      head={[
        ...["Name", "Targets", "Fallbacks", "Stays with", "Changed"],
        ...mayChange ? [actionsColumn()] : [],
      ]}
    >
      {models.map(({ name, definition, updatedAt }) => (
        <tr>
          <td class="name">
            <code>{name}</code>
          </td>
          <td data-label="Targets">
            <Targets targets={definition.targets} />
          </td>
          <td data-label="Fallbacks">
            {definition.fallbacks.length === 0
              ? "–"
              : definition.fallbacks.map((model) => <div>{model}</div>)}
          </td>
          <td data-label="Stays with">{stickNames.get(definition.stickBy ?? "")}</td>
          {updatedAt
            ? <TimeCell label="Changed" at={updatedAt} now={request.now} />
            : (
              <td data-label="Changed">
                <Badge tone="neutral">The service's</Badge>
              </td>
            )}
          {mayChange ? <td class="actions">{updatedAt ? <Actions name={name} /> : null}</td> : null}
        </tr>
      ))}
    </Table>
  );
}

/** Shows each target with its share of the calls in percent. */
function Targets({ targets }: Pick<VirtualModelDefinition, "targets">) {
  const sum = targets.reduce((total, { weight }) => total + weight, 0);
  return (
    <>
      {targets.map(({ model, weight }) => (
        <div>
          {model} {targets.length === 1
            ? null
            : <span class="muted nowrap">{`${Math.round(weight / sum * 1000) / 10} %`}</span>}
        </div>
      ))}
    </>
  );
}

function Actions({ name }: { name: string }) {
  const query = `?name=${encodeURIComponent(name)}`;
  return (
    <>
      <RowLink href={`${address}/change${query}`} text="Change" of={name} />{" "}
      <RowLink href={`${address}/remove${query}`} text="Remove" of={name} danger />
    </>
  );
}

const stickOptions: readonly Option[] = [
  ["", "Nothing: each call is chosen by itself"],
  ["session", "The session"],
  ["user", "The end user"],
];

const stickNames = new Map([["", "–"], ["session", "Session"], ["user", "End user"]]);

function formPage(
  ctx: PageContext,
  request: PageRequest,
  shown: Shown,
  changed?: string,
): Page {
  const isNew = changed === undefined;
  return {
    title: isNew ? "New virtual model" : "Change virtual model",
    section: "settings",
    body: (
      <PostForm
        action={isNew ? `${address}/new` : request.address}
        csrf={request.csrf}
        class="form"
      >
        <FormError fieldErrors={shown.fieldErrors} />
        {isNew
          ? (
            <TextField
              {...shown}
              id="name"
              label="Name"
              hint="Letters, digits and . _ : -"
              placeholder="fast"
              maxlength={virtualModelLimits.nameLength}
              required
            />
          )
          : (
            <>
              <h2>
                <code>{changed}</code>
              </h2>
              <input type="hidden" name="version" value={shown.values.version?.[0] ?? ""} />
            </>
          )}
        <TextArea
          {...shown}
          id="targets"
          label="Targets"
          hint={`One model per line, with an optional weight after it (default 1). At most ${virtualModelLimits.targets}.`}
          placeholder={`${
            ctx.exampleModels.anyModel() ?? "openai/gpt-5-mini"
          } 9\nclaude-haiku-4-5 1`}
        />
        <TextArea
          {...shown}
          id="fallbacks"
          label="Fallbacks"
          hint="Models to try, in this order, if all targets fail. Optional."
        />
        <SelectField
          {...shown}
          id="stick_by"
          label="Keeps the same target for"
          hint="By the id of the session or end user; calls without one are distributed by weight."
          options={stickOptions}
        />
        <FormButtons back={address}>{isNew ? "Create" : "Save"}</FormButtons>
      </PostForm>
    ),
  };
}
