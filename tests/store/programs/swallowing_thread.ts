import { serveEmbedded } from "../../../src/database/embedded/serve.ts";

/** A thread of the embedded database whose work runs a statement and says nothing of its failure. */
serveEmbedded((database) => async (statement) => {
  try {
    await database.transaction((tx) => tx.query(String(statement)));
    return "done";
  } catch {
    return "swallowed";
  }
});
