/** The read model: one row a run, for lists. Derived: it can be deleted and is made again. Rows: RUN-4. */
import 'reflect-metadata';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity({ name: 'run_views', schema: 'n17q_api' })
@Index('run_views_newest', ['tenant', 'createdAt', 'run'])
export class RunView {
  @PrimaryColumn('text') tenant: string;
  @PrimaryColumn('text') run: string;
  @Column('text') title: string;
  @Column('text') status: string;
  /** Whose move it is, in words. */
  @Column('text') move: string;
  @Column('integer') segment: number;
  @Column('text', { nullable: true }) model: string | null;
  @Column('integer') unresolved: number;
  /** What the row was made from; a row is never replaced by an older one. */
  @Column('integer') revision: number;
  @Column('timestamptz', { name: 'created_at' }) createdAt: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt: Date;
}

/** Which version of the projection made the rows, and when it last compared all runs with the store. */
@Entity({ name: 'projections', schema: 'n17q_api' })
export class Projection {
  @PrimaryColumn('text') name: string;
  @Column('integer') version: number;
  @Column('timestamptz', { name: 'caught_up_at', nullable: true }) caughtUpAt: Date | null;
  @Column('integer') runs: number;
}

/**
 * Which append an idempotency key led to. Not derived; if it is lost, the store still knows the last appends of each run by their ids. The key and the
 * request stand in it only as digests that nobody can guess from.
 */
@Entity({ name: 'request_keys', schema: 'n17q_api' })
@Index('request_keys_age', ['createdAt'])
export class RequestKey {
  @PrimaryColumn('text') key: string;
  @Column('text') request: string;
  @Column('text') tenant: string;
  @Column('text') stream: string;
  @Column('integer', { name: 'from_revision' }) fromRevision: number;
  @Column('uuid', { name: 'append_id' }) appendId: string;
  @Column('timestamptz', { name: 'created_at' }) createdAt: Date;
}
