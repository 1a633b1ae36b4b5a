import { contracts } from "../../../contracts/mod.ts";
import { accountFilter, accountOf, administratorBy } from "../../administration/administration.ts";
import {
  virtualModelRemoved,
  virtualModelSet,
  virtualModelView,
} from "../../administration/virtual_model_administration.ts";
import type { Clock } from "../../base/clock.ts";
import type { AccountStore } from "../../keys/account.ts";
import { noVirtualModel, type VirtualModels } from "../../routing/virtual_models.ts";
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

  app.bind(admin.listModels, async ({ query: { account_id } }) => {
    const owner = await accountFilter(accounts, account_id);
    const stored = await models.list(owner?.id);
    const all = owner ? stored : [...models.listOfService(), ...stored];
    return { data: all.map(virtualModelView) };
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
