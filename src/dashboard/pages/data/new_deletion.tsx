import type { Child } from "hono/jsx";
import {
  type DataTable,
  dataTables,
  type DeletionCounts,
  selectorKinds,
  type Selectors,
  totalOf,
} from "../../../erasure/deletion.ts";
import { anySelectors, selectionRequest } from "../../../erasure/deletion_scope.ts";
import { OptionError } from "../../../shared/fault.ts";
import { count, counted } from "../../amounts.ts";
import type { Outcome, Page, PageContext, PageRequest, Routes } from "../../bind.tsx";
import { describedBy, Fact, Field, Isolated, PostForm } from "../../components.tsx";
import { submitOrExplain, validateForm } from "../../faults.ts";
import {
  Choices,
  DayField,
  FormButtons,
  FormError,
  listOf,
  type Option,
  type Shown,
  TextArea,
  TextField,
} from "../../fields.tsx";
import type { Form } from "../../form.ts";
import { nameText } from "../../format.ts";
import { tableNames } from "./new_export.tsx";

const address = "/dashboard/deletion";

/** Fields that choose rows. */
const selectorFields = ["user_id", "session_ids", "transaction_ids", "start_date", "end_date"];

/** Deletes data in two steps: the first counts what would be deleted, the second deletes it. */
export function newDeletionRoutes(app: Routes, ctx: PageContext): void {
  app.get(
    `${address}/new`,
    "owner",
    (request) => formPage(request, { values: asked(request), fieldErrors: {} }),
  );
  app.post(`${address}/new`, "owner", (form, request) => dryRun(ctx, form, request));
  app.post(address, "owner", (form, request) => confirm(ctx, form, request));
}

/** Returns the form's first values: empty, or from the query of a link. */
function asked(request: PageRequest): Shown["values"] {
  const named = ["user_id", "session_ids", "transaction_ids"].flatMap((name) => {
    const value = request.query(name);
    return value === undefined ? [] : [[name, [value]] as const];
  });
  return { tables: [...dataTables], ...Object.fromEntries(named) };
}

interface Wanted {
  tables: readonly DataTable[];
  selectors: Selectors;
  reason: string;
}

/** Reads what the form asks to delete. Throws faults that name the field. */
function wantedOf(form: Form): Wanted {
  if (!selectorFields.some((name) => form.text(name) !== "")) {
    throw new OptionError(
      "user_id",
      "fill in at least one of User, Sessions, Transactions, First day and Last day",
    );
  }
  const body = validateForm(selectionRequest, {
    tables: form.all("tables"),
    ...form.filledExactly("user_id"),
    session_ids: listOf(form.text("session_ids")),
    transaction_ids: listOf(form.text("transaction_ids")),
    ...form.span(),
    reason: form.text("reason"),
  });
  return { tables: body.tables, selectors: anySelectors(body), reason: body.reason };
}

function fieldOf(param: string): string {
  return param.split(/[.[]/)[0]!;
}

async function dryRun(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const { accountId } = request;
  // The second step leads back here with what was chosen.
  if (form.text("change") !== "") {
    return formPage(request, { values: form.values(), fieldErrors: {} });
  }
  const { done, fieldErrors } = await submitOrExplain(async () => {
    const wanted = wantedOf(form);
    return { wanted, counts: await ctx.deletions.count({ accountId, ...wanted }) };
  }, fieldOf);
  if (fieldErrors) {
    return { ...formPage(request, { values: form.values(), fieldErrors }), status: 400 };
  }
  return confirmPage(request, form, done.wanted, done.counts);
}

async function confirm(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const { accountId } = request;
  const { done, fieldErrors } = await submitOrExplain(() => wantedOf(form), fieldOf);
  if (fieldErrors) {
    return { ...formPage(request, { values: form.values(), fieldErrors }), status: 400 };
  }
  if (form.text("confirm").replaceAll(",", "") !== form.text("expected")) {
    const counts = await ctx.deletions.count({ accountId, ...done });
    const error = `Nothing was deleted: type ${totalOf(counts)} to confirm.`;
    return { ...confirmPage(request, form, done, counts, error), status: 400 };
  }
  const about = `about ${counted(Number(form.text("expected")), "row")}`;
  const detail = `by ${selectorKinds(done.selectors)}; ${about}`;
  const id = await ctx.deletions.queue({
    accountId,
    ...done,
    audit: (deletionId) => request.note("data.deleted", deletionId, detail),
  });
  const notice = `The deletion of ${about} was started. These calls are hidden from now on.`;
  return { to: `${address}/${id}`, notice: { kind: "done", text: notice } };
}

function formPage(request: PageRequest, shown: Shown): Page {
  const tables = dataTables.map((table): Option => [table, tableNames[table]]);
  return {
    title: "Delete data",
    section: "deletion",
    lead: "Step 1 of 2: choose what to delete. Nothing is deleted yet.",
    body: (
      <PostForm action={`${address}/new`} csrf={request.csrf} class="form">
        <FormError fieldErrors={shown.fieldErrors} />
        <TextField
          {...shown}
          id="user_id"
          label="User"
          hint="The end user, exactly as in calls. A row must match all fields that are set."
        />
        <TextArea {...shown} id="session_ids" label="Sessions" hint="One per line." />
        <TextArea
          {...shown}
          id="transaction_ids"
          label="Transactions"
          hint="One per line, up to about 1,000; the API takes 10,000."
        />
        <div class="columns">
          <DayField {...shown} id="start_date" label="First day" hint="UTC" />
          <DayField {...shown} id="end_date" label="Last day" hint="Included" />
        </div>
        <Choices {...shown} id="tables" label="From" type="checkbox" options={tables} />
        <TextField
          {...shown}
          id="reason"
          label="Reason"
          hint="Kept in the receipt: do not name a person here."
          placeholder="Request 4711 under Art. 17 GDPR"
          required
        />
        <FormButtons back={address}>Count matching rows</FormButtons>
      </PostForm>
    ),
  };
}

function confirmPage(
  request: PageRequest,
  form: Form,
  { tables, selectors, reason }: Wanted,
  counts: DeletionCounts,
  error?: string,
): Page {
  const total = totalOf(counts);
  return {
    title: total === 0 ? "Nothing matches" : `Delete ${counted(total, "row")}?`,
    section: "deletion",
    lead: "Step 2 of 2: this was a dry run. Nothing is deleted yet.",
    body: (
      <>
        <dl class="facts">
          {tables.map((table) => <Fact name={tableNames[table]}>{count(counts[table])}</Fact>)}
          {chosen(form, selectors).map(([name, value]) => <Fact name={name}>{value}</Fact>)}
          <Fact name="Reason">{reason}</Fact>
        </dl>
        <p class="narrow">
          {total === 0
            ? "No stored data matches. You can still record the request: the receipt will say so, and matching calls in flight will not be stored."
            : "Payloads, media, stored answers, replays and export files that may hold these rows go with them. This can't be undone."}
        </p>
        <PostForm action={address} csrf={request.csrf} class="panel">
          {hiddenFields(form)}
          <input type="hidden" name="expected" value={String(total)} />
          <Field id="confirm" label={`Type ${total} to confirm`} error={error}>
            <input
              id="confirm"
              name="confirm"
              type="text"
              inputmode="numeric"
              autocomplete="off"
              autofocus
              required
              {...describedBy("confirm", { error: error !== undefined })}
            />
          </Field>
          <FormButtons back={address} tone="danger" further={<ChangeButton />}>
            {total === 0 ? "Record it" : `Delete ${counted(total, "row")}`}
          </FormButtons>
        </PostForm>
      </>
    ),
  };
}

/** Leads back to the first step with its values. */
function ChangeButton() {
  const action = `${address}/new`;
  return (
    <button type="submit" class="button" name="change" value="1" formaction={action} formnovalidate>
      Change selection
    </button>
  );
}

/** Returns the selectors to show before the deletion, since deleted rows can't be restored. */
function chosen(
  form: Form,
  { userIds = [], sessionIds = [], transactionIds = [], start, end }: Selectors,
): [name: string, value: Child][] {
  const lists: [name: string, values: readonly string[]][] = [
    ["User", userIds],
    ["Sessions", sessionIds],
    ["Transactions", transactionIds],
    ["First day", start ? [form.text("start_date")] : []],
    ["Last day", end ? [form.text("end_date")] : []],
  ];
  return lists.filter(([, values]) => values.length > 0).map(([name, values]) => {
    const more = values.length > 5 ? ` and ${count(values.length - 5)} more` : "";
    const texts = values.slice(0, 5).map(nameText);
    return [
      name,
      <>
        <Isolated texts={texts} between="," />
        {more}
      </>,
    ];
  });
}

/** Carries the first step's values over to the second. */
function hiddenFields(form: Form) {
  const retained = [...selectorFields, "tables", "reason"];
  return Object.entries(form.values()).filter(([name]) => retained.includes(name))
    .flatMap(([name, values]) => values.map((value) => ({ name, value })))
    .map(({ name, value }) => <input type="hidden" name={name} value={value} />);
}
