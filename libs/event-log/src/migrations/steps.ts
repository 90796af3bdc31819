/** The schema's steps, oldest first. A step that was released is never edited: the next one changes what it made. There is no way back but a backup. */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { APPEND } from './append.sql.js';
import { TABLES } from './tables.sql.js';

abstract class Forward implements MigrationInterface {
  abstract readonly name: string;
  protected abstract readonly sql: string;
  async up(runner: QueryRunner): Promise<void> { await runner.query(this.sql); }
  down(): Promise<void> { return Promise.reject(new Error(`${this.name} cannot be undone: restore a backup instead`)); }
}

export class StoreTables1798000000001 extends Forward {
  readonly name = 'StoreTables1798000000001';
  protected readonly sql = TABLES;
}
export class StoreAppend1798000000002 extends Forward {
  readonly name = 'StoreAppend1798000000002';
  protected readonly sql = APPEND;
}
export const STEPS = [StoreTables1798000000001, StoreAppend1798000000002];
export const FORMAT_VERSION = 1;
