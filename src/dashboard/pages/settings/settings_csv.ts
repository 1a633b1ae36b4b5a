import { budgetScopeText, limitAt, type StoredBudget } from "../../../budgets/budget.ts";
import type { VirtualModelDefinition } from "../../../routing/virtual_model.ts";
import type { Webhook } from "../../../webhooks/webhook.ts";
import { type PageContext, type Routes } from "../../bind.tsx";
import { type CsvColumns, csvFile } from "../../csv.ts";

const settings = "/dashboard/settings";

/** The tables of budgets, webhooks and virtual models as files. */
export function settingsCsvRoutes(app: Routes, ctx: PageContext): void {
  app.get(`${settings}/budgets/csv`, "viewer", async ({ session, now }) =>
    csvFile("budgets", {
      ...budgetColumns,
      limit_usd: (budget) => ({ nanos: limitAt(budget, now) }),
    }, await ctx.budgets.list(session.account.id)));
  app.get(
    `${settings}/webhooks/csv`,
    // Addresses may hold secrets, as on their page.
    "owner",
    async ({ session }) =>
      csvFile("webhooks", webhookColumns, await ctx.webhooks.list(session.account.id)),
  );
  app.get(`${settings}/models/csv`, "viewer", async ({ session }) => {
    const own = await ctx.virtualModels.list(session.account.id);
    const names = new Set(own.map(({ name }) => name));
    const ofService = ctx.virtualModels.listOfService().filter(({ name }) => !names.has(name));
    return csvFile("virtual-models", modelColumns, [...own, ...ofService]);
  });
}

const budgetColumns: CsvColumns<StoredBudget> = {
  budget_id: ({ id }) => id,
  on: ({ scope }) => budgetScopeText(scope),
  per: ({ per }) => per,
  spent_usd: ({ spentNanos }) => ({ nanos: spentNanos }),
  raised_until: ({ raised }) => raised?.until ?? null,
};

const webhookColumns: CsvColumns<Webhook> = {
  webhook_id: ({ id }) => id,
  address: ({ url }) => url,
  events: ({ events }) => events.length === 0 ? "all" : events.join(" "),
  waiting: ({ waiting }) => waiting,
  lost: ({ lost }) => lost,
  last_failed_at: ({ lastFailedAt }) => lastFailedAt,
  last_failure: ({ lastError }) => lastError,
};

interface ShownModel {
  name: string;
  definition: VirtualModelDefinition;
  updatedAt?: Date;
}

const modelColumns: CsvColumns<ShownModel> = {
  name: ({ name }) => name,
  targets: ({ definition: { targets } }) =>
    targets.map(({ model, weight }) => `${model} ${weight}`).join("; "),
  fallbacks: ({ definition: { fallbacks } }) => fallbacks.join("; "),
  stays_with: ({ definition: { stickBy } }) => stickBy ?? null,
  changed_at: ({ updatedAt }) => updatedAt ?? null,
};
