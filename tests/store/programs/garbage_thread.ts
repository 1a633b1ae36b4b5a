import { serveEmbedded } from "../../../src/database/embedded/serve.ts";
import { garbageOfQueries } from "./garbage_of_queries.ts";

/** The thread of an embedded database, which has a heap of its own. */
serveEmbedded((database) => () => garbageOfQueries(database));
