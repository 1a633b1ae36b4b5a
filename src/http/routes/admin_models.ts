import { contracts } from "../../../contracts/mod.ts";
import {
  accountCursor,
  accountFilter,
  accountOf,
  administratorBy,
  pageOf,
  readAccountCursor,
} from "../../administration/administration.ts";
import {
  virtualModelRemoved,
  virtualModelSet,
  virtualModelView,
} from "../../administration/virtual_model_administration.ts";
import type { Clock } from "../../base/clock.ts";
import type { AccountStore } from "../../keys/account.ts";
import { noVirtualModel, type VirtualModels } from "../../routing/virtual_models.ts";
import type { AccountPlace } from "../../shared/account_page.ts";
import type { Endpoints } from "../bind.ts";

export function adminModelRoutes(
  app: Endpoints,
  deps: {
    accounts: Pick<AccountStore, "first" | "find">;
    virtualModels: VirtualModels;
    clock: Clock;
  },
): void {
  const { accounts, virtualModels: models } = deps;
  const { admin } = contracts;
  const by = administratorBy(deps.clock);

  app.bind(admin.listModels, async ({ query: { account_id, limit, cursor } }) => {
    const owner = await accountFilter(accounts, account_id);
    const page = { after: readAccountCursor(cursor), limit: limit + 1 };
    const ofService = owner ? [] : modelsOfService(models, page.after);
    const stored = await models.list(owner?.id, page);
    const { page: shown, next_cursor } = pageOf([...ofService, ...stored], limit, placeOf);
    return { data: shown.map(virtualModelView), next_cursor };
  });

  app.bind(admin.createModel, async ({ caller, body }) => {
    const { name, account_id, ...json } = body;
    const { id } = await accountOf(accounts, account_id);
    const note = virtualModelSet(by(caller), id, name);
    return virtualModelView(await models.create(id, name, json, note));
  });

  app.bind(admin.getModel, async ({ params: { name }, query }) => {
    const { id } = await accountOf(accounts, query.account_id);
    const found = (await models.list(id)).find((one) => one.name === name);
    if (!found) throw noVirtualModel(name);
    return virtualModelView(found);
  });

  app.bind(admin.updateModel, async ({ caller, params: { name }, query, body }) => {
    const { id } = await accountOf(accounts, query.account_id);
    const note = virtualModelSet(by(caller), id, name);
    return virtualModelView(await models.change(id, name, body, note));
  });

  app.bind(admin.deleteModel, async ({ caller, params: { name }, query }) => {
    const { id } = await accountOf(accounts, query.account_id);
    const removed = await models.remove(id, name, virtualModelRemoved(by(caller), id, name));
    if (!removed) throw noVirtualModel(name);
    return { account_id: id, name, removed: true as const };
  });
}

/** In cursors the service's models have an account before all others. */
const service = 0;

function placeOf({ accountId = service, name }: Parameters<typeof virtualModelView>[0]) {
  return accountCursor({ accountId, name });
}

/** The service's models of a page and of all that follow. */
function modelsOfService(
  models: Pick<VirtualModels, "listOfService">,
  after: AccountPlace | undefined,
) {
  if (after && after.accountId !== service) return [];
  return models.listOfService().toSorted((one, other) => one.name < other.name ? -1 : 1)
    .filter(({ name }) => !after || name > after.name);
}
