import { evalRequest } from "../../../../contracts/data/evals.ts";
import type { EvalEstimate } from "../../../evals/estimate_eval.ts";
import type { ApiKey, Principal } from "../../../keys/api_key.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { keyState } from "../../../keys/key_service.ts";
import {
  type Outcome,
  type Page,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import { Empty, LinkLine, PostForm } from "../../components.tsx";
import { counted, usd } from "../../amounts.ts";
import { modelName } from "../../vendor_names.ts";
import { submitOrExplain, validateForm } from "../../faults.ts";
import { DayField, FormError, SelectField, type Shown, TextField } from "../../fields.tsx";
import type { Form } from "../../form.ts";
import { KeyField, offeredKeys } from "../../key_field.tsx";
import { graderField, GraderFields, readGraders, usedSlots } from "./eval_graders.tsx";
import { askedFilters, filterField, FilterFields, readFilters } from "../data/record_filters.tsx";

const address = "/dashboard/evals";

export function newEvalRoutes(app: Routes, ctx: PageContext): void {
  app.get(`${address}/new`, "member", (request) => {
    const values = { ...first, ...askedFilters(request.query) };
    return formPage(ctx, request, { values, fieldErrors: {} });
  });
  app.post(`${address}/new`, "member", (form, request) => start(ctx, form, request));
}

/** The form's first values. */
const first: Shown["values"] = { limit: ["100"], sample: ["newest"], grader0_type: ["contains"] };

async function start(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  if (form.text("step") === "estimate") return await estimate(ctx, form, request);
  const { done, fieldErrors } = await submitOrExplain(async () => {
    const body = validateForm(evalRequest, await requestOf(ctx, form, request));
    const principal = await principalOf(ctx, request, form.text("key"));
    const caller = {
      principal,
      vendorKey: undefined,
      requestId: ctx.newId(),
      arrivedAt: request.now,
    };
    const note = request.note(
      "eval.created",
      body.name ?? body.model,
      `with ${principal.key.name}`,
    );
    return await ctx.createEval(caller, body, note);
  }, (param) => fieldOf(param, usedSlots(form)));
  if (fieldErrors) {
    return { ...await formPage(ctx, request, { values: form.values(), fieldErrors }), status: 400 };
  }
  const text = done.total === 0
    ? "No stored interaction matches, so there is nothing to do."
    : "The evaluation was started.";
  return { to: `${address}/${done.evalRunId}`, notice: { kind: "done", text } };
}

/** Shows the same form again, with the run's estimated cost above it. */
async function estimate(ctx: PageContext, form: Form, request: PageRequest): Promise<Page> {
  const { done, fieldErrors } = await submitOrExplain(async () => {
    const body = validateForm(evalRequest, await requestOf(ctx, form, request));
    return await ctx.estimateEval(request.accountId, body);
  }, (param) => fieldOf(param, usedSlots(form)));
  const shown = { values: form.values(), fieldErrors: fieldErrors ?? {} };
  const shownPage = await formPage(ctx, request, shown, done);
  return fieldErrors ? { ...shownPage, status: 400 } : shownPage;
}

function EstimateNotice({ estimate: { calls, costNanos } }: { estimate: EvalEstimate }) {
  if (calls === 0) {
    return <p class="notice notice-plain" role="status">No stored call matches: nothing to do.</p>;
  }
  const cost = costNanos === undefined
    ? "cost unknown: a price or the tokens of these calls are not known"
    : `about ${usd(costNanos)}, by the average of the latest of them`;
  return <p class="notice notice-plain" role="status">{`${counted(calls, "call")}, ${cost}.`}</p>;
}

/** Returns the form as a request of the API. */
async function requestOf(ctx: PageContext, form: Form, request: PageRequest): Promise<unknown> {
  return {
    ...form.filled("name"),
    model: form.text("model"),
    graders: readGraders(form),
    filters: await readFilters(ctx, request, form),
    ...form.span(),
    limit: limitOf(form.text("limit")),
    sample: form.text("sample"),
  };
}

/** The contract's messages name types of JSON, which a form's field doesn't have. */
function limitOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) {
    throw invalidValue("limit", "expected a whole number from 1 to 10,000");
  }
  return Number(text);
}

/**
 * Finds the key for the run's calls: one of the account's own, in use and with the scope for
 * evaluations. Throws a fault for any other.
 */
async function principalOf(
  ctx: PageContext,
  request: PageRequest,
  keyId: string,
): Promise<Principal> {
  const key = await ctx.keys.find(request.accountId, keyId);
  const found = key && isUsable(key, request.now) ? await ctx.principal(keyId) : undefined;
  if (found && found.account.id === request.accountId) return found;
  throw invalidValue("key", "choose a key in use that has the scope evals");
}

function isUsable(key: ApiKey, now: Date): boolean {
  const state = keyState(key, now);
  const mayRun = key.scopes.length === 0 || key.scopes.includes("evals");
  return mayRun && (state === "active" || state === "expiring");
}

function fieldOf(param: string, slots: readonly number[]): string {
  return graderField(param, slots) ?? filterField(param) ?? param;
}

async function formPage(
  ctx: PageContext,
  request: PageRequest,
  shown: Shown,
  estimated?: EvalEstimate,
): Promise<Page> {
  const [keys, inUse] = await Promise.all([
    offeredKeys(ctx, request.accountId),
    // Rotated keys add up: those must not keep the ones in use from being offered.
    offeredKeys(ctx, request.accountId, { isInUse: true }),
  ]);
  const usable = inUse?.filter((key) => isUsable(key, request.now));
  return {
    title: "New evaluation",
    section: "evals",
    body: usable?.length === 0
      ? (
        <Empty title="No key to run it with">
          <p>
            An evaluation makes its calls with one of your keys, within its caps and limits. The key
            needs the scope <code>evals</code>.
          </p>
          <LinkLine href="/dashboard/keys/new" primary>Create API Key</LinkLine>
        </Empty>
      )
      : <EvalForm {...{ ctx, keys, usable, shown, estimated }} csrf={request.csrf} />,
  };
}

function EvalForm({ ctx, csrf, keys, usable, shown, estimated }: {
  ctx: PageContext;
  csrf: string;
  keys: readonly ApiKey[] | undefined;
  /** The keys that a run may be charged to. */
  usable: readonly ApiKey[] | undefined;
  shown: Shown;
  estimated: EvalEstimate | undefined;
}) {
  return (
    <PostForm action={`${address}/new`} csrf={csrf} class="form">
      <FormError fieldErrors={shown.fieldErrors} />
      {estimated ? <EstimateNotice estimate={estimated} /> : null}
      <div class="columns">
        <TextField {...shown} id="name" label="Name" hint="Optional." />
        <TextField
          {...shown}
          id="model"
          label="Model"
          hint="The model to test."
          placeholder="openai/gpt-5-mini"
          list="models"
          required
        />
      </div>
      <datalist id="models">
        {ctx.knownModels().map((id) => <option value={modelName(ctx.vendorNames, id)}></option>)}
      </datalist>
      <KeyField
        {...shown}
        id="key"
        label="API key to charge"
        hint="Its models, caps and limits apply, and the calls cost credit like any others."
        keys={usable}
      />
      <div class="columns">
        <TextField {...shown} id="limit" label="Maximum calls" hint="1 to 10,000" />
        <SelectField
          {...shown}
          id="sample"
          label="Sample"
          options={[["newest", "The newest"], ["random", "Random"]]}
        />
        <DayField {...shown} id="start_date" label="First day" hint="UTC" />
        <DayField {...shown} id="end_date" label="Last day" hint="Included" />
      </div>
      <FilterFields {...shown} keys={keys} vendors={ctx.vendorNames} />
      <GraderFields {...shown} />
      <div class="buttons">
        <button type="submit" class="button button-primary">Start evaluation</button>
        <button type="submit" class="button" name="step" value="estimate">Estimate cost</button>
        <a class="button" href={address}>Cancel</a>
      </div>
    </PostForm>
  );
}
