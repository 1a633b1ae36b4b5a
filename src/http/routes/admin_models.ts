import { contracts } from "../../../contracts/mod.ts";
import { accountOf, administratorOf } from "../../administration/administration.ts";
import {
  changeVirtualModel,
  createVirtualModel,
  fileModelJson,
  findVirtualModel,
  removeVirtualModel,
  storedModelJson,
} from "../../administration/virtual_model_administration.ts";
import type { Clock } from "../../base/clock.ts";
import type { AccountStore } from "../../keys/account.ts";
import type { CallContext } from "../../relay/call_context.ts";
import { VirtualModelError } from "../../routing/virtual_model.ts";
import { noVirtualModel, type VirtualModels } from "../../routing/virtual_models.ts";
import { Fault } from "../../shared/fault.ts";
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
  const by = (caller: CallContext) => administratorOf(caller.principal.key, deps.clock.now());

  app.bind(admin.listModels, async ({ query: { account_id } }) => {
    const owner = account_id === undefined ? undefined : await accountOf(accounts, account_id);
    const stored = (await models.list(owner?.id)).map(storedModelJson);
    return { data: owner ? stored : [...models.listOfService().map(fileModelJson), ...stored] };
  });

  app.bind(admin.createModel, async ({ caller, body }) => {
    const { name, account_id, ...json } = body;
    const { id } = await accountOf(accounts, account_id);
    return storedModelJson(
      await naming(() => createVirtualModel(models, by(caller), id, name, json)),
    );
  });

  app.bind(admin.getModel, async ({ params, query }) => {
    const { id } = await accountOf(accounts, query.account_id);
    return storedModelJson(await findVirtualModel(models, id, params.name));
  });

  app.bind(admin.updateModel, async ({ caller, params, query, body }) => {
    const { id } = await accountOf(accounts, query.account_id);
    return storedModelJson(
      await naming(() => changeVirtualModel(models, by(caller), id, params.name, body)),
    );
  });

  app.bind(admin.deleteModel, async ({ caller, params, query }) => {
    const { id } = await accountOf(accounts, query.account_id);
    const removed = await removeVirtualModel(models, by(caller), id, params.name);
    if (!removed) throw noVirtualModel(params.name);
    return { account_id: id, name: params.name, removed: true as const };
  });
}

/** What is wrong with a definition is a 400 that names the field. */
async function naming<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof VirtualModelError)) throw thrown;
    const { field, message } = thrown;
    throw new Fault("invalid_value", { ...(field === "" ? {} : { param: field }), message });
  }
}
