/** What is asked and answered, as the server's OpenAPI has it: with the names of JSON, and times as ISO 8601. */

import type { components, operations, paths } from "./openapi.js";

type Schemas = components["schemas"];

export type Kind = Schemas["Kind"];
/** One memory, as it is stored: in Python a `Record`, which in TypeScript is something else. */
export type MemoryRecord = Schemas["RecordBody"];
export type Hit = Schemas["HitBody"];
export type Context = Schemas["ContextAnswer"];
export type ContextItem = Schemas["ContextItemBody"];
export type Page = Schemas["PageBody"];
export type Change = Schemas["ChangeBody"];
export type Replacement = Schemas["ReplacementBody"];
export type ReplacementPage = Schemas["ReplacementPageBody"];
export type Provenance = Schemas["ProvenanceBody"];
export type Derived = Schemas["DerivedBody"];
export type Trace = Schemas["TraceBody"];
export type TracePage = Schemas["TracesBody"];
export type Proposal = Schemas["ProposalBody"];
export type Suggestion = Schemas["SuggestionBody"];
export type TidyReport = Schemas["TidyReportBody"];
export type Exposed = Schemas["ExposedBody"];
export type LoadReport = Schemas["LoadReportBody"];
export type Purged = Schemas["Purged"];
export type Statement = Schemas["Statement"];
export type AuditEntry = Schemas["AuditEntryBody"];
export type RetentionReport = Schemas["RetentionReportBody"];
export type UserCount = Schemas["UserBody"];
export type Caller = Schemas["Caller"];

/**
 * Whose records: the walls `tenant` and `user`, and the labels `agent` and `session`, which narrow reads; and `zone`, the
 * name of the user's time zone, such as `Europe/Lisbon`: whose days are asked for and told, by default the server's.
 */
export interface Scope {
  readonly tenant?: string | undefined;
  readonly user?: string | undefined;
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly zone?: string | undefined;
}

/** The labels that narrow one call. */
export type Labels = Pick<Scope, "agent" | "session">;

type BodyOf<O> = O extends { requestBody: { content: { "application/json": infer B } } } ? B : never;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? Omit<NonNullable<Q>, keyof Scope> : never;
type Body<V extends keyof operations, But extends string = never> = Omit<BodyOf<operations[V]>, But>;
type Query<V extends keyof operations> = QueryOf<operations[V]>;

export type Draft = Body<"remember">["records"][number];
export type RememberOptions = Omit<Draft, "content"> & RememberAll;
/** The options of `remember` that are about all records together. */
export type RememberAll = Body<"remember", "records">;
export type RecallOptions = Body<"recall", "query"> & Labels;
export type ContextOptions = Body<"context", "query"> & Labels;
export type RecentOptions = Body<"recent"> & Labels;
export type BrowseOptions = Body<"browse"> & Labels;
export type IterateOptions = Omit<BrowseOptions, "limit" | "cursor"> & { page?: number };
export type CountOptions = Body<"count"> & Labels;
export type ChangesOptions = Body<"changes"> & Labels;
export type LookupOptions = Omit<Query<"lookup">, "key">;
export type FindOptions = Body<"find", "ids">;
export type Revision = Body<"revise">;
export type RateOptions = Body<"rate", "rating">;
/** Which records, where no ids are named. */
export type Narrowing = Body<"derived", "ids"> & Labels;
export type ForgetOptions = Body<"forget", "ids"> & Labels;
export type PurgeOptions = Query<"purge"> & { user?: string };
export type ExportOptions = Query<"export">;
export type TracesOptions = Body<"traces">;
export type RejectOptions = Body<"reject">;
export type RelabelOptions = Body<"relabel", "ids" | "to"> & Labels;
export type TidyOptions = Body<"tidy">;
export type ArchiveOptions = Body<"archive", "ids">;
export type AuditOptions = Query<"audit">;
export type ReindexOptions = Query<"reindex"> & { progress?: (done: number, total: number) => void };
export type RetentionRule = BodyOf<operations["retain"]>["rules"][number];

// --- one request of the REST interface -------------------------------------------------------------------

export type Path = keyof paths & string;
export type Method<P extends Path> = {
  [M in keyof paths[P]]: paths[P][M] extends { responses: unknown } ? Uppercase<M & string> : never;
}[keyof paths[P]];
type Operation<P extends Path, M extends string> = paths[P][Lowercase<M> & keyof paths[P]];

/** What a request of this method and path takes, beside the scope. */
export type Given<P extends Path, M extends string> = Labels & {
  query?: Partial<QueryOf<Operation<P, M>>>;
} & (P extends `${string}{id}${string}` ? { id: string } : { id?: never }) &
  ([BodyOf<Operation<P, M>>] extends [never] ? { body?: never } : { body: BodyOf<Operation<P, M>> });

type ContentOf<R> = R extends { content: { "application/json": infer A } } ? A : never;
/** The JSON that a request of this method and path is answered with. */
export type Answer<P extends Path, M extends string> =
  Operation<P, M> extends { responses: infer R } ? ContentOf<R[keyof R & (200 | 201)]> : never;
