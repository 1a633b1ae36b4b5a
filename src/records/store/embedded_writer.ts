import { serveEmbedded } from "../../database/embedded/serve.ts";
import { createWriteWork, type WritePart } from "./write_work.ts";

/**
 * The module of the embedded database's thread. It also writes records, since they are in that
 * database.
 */
serveEmbedded((database) => {
  const { write } = createWriteWork(database);
  return (part) => write(part as WritePart);
});
