/** The actions of the audit log, and the types of their subjects: those of routes, and those that have sentences, of background jobs, sign-in and imports. */
import { auditActions } from "../../api/schema.gen.ts";
import { sentences } from "./sentences.ts";

export const auditedActions: readonly string[] = [...new Set([...auditActions, ...Object.keys(sentences)])].sort();
export const subjectTypes = [...new Set(auditedActions.map((action) => action.slice(0, action.indexOf("."))))];
