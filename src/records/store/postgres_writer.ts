import { answerQuestions } from "../../base/request_thread.ts";
import { createWriteWork, type WritePart, type Written } from "./write_work.ts";

export type WriterQuestion = WritePart | "close";

/** The module of the thread that writes records to PostgreSQL. */
const { write, close } = createWriteWork();
answerQuestions(async (question: WriterQuestion): Promise<Written> => {
  if (question !== "close") return await write(question);
  await close();
  return { ok: true, dropped: [] };
});
