// The common parts of the crash views: states, levels and decisions about issues.

import { run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { hasText, t } from '../../shared/i18n.js';

const statuses = { unresolved: 'warn', regression: 'bad', resolved: 'good', ignored: '' };

export function statusTag(issue) {
  const kind = statuses[issue.status];
  return h(`span.tag${kind ? `.${kind}` : ''}`, word('crash.status', issue.status));
}

export function levelTag(issue) {
  const kind = { fatal: '.bad', error: '.bad', warning: '.warn' }[issue.level] ?? '';
  return h(`span.tag${kind}`, word('crash.level', issue.level));
}

function word(group, name) {
  return hasText(`${group}.${name}`) ? t(`${group}.${name}`) : String(name ?? '');
}

/** @returns whether the issue was resolved. */
export function resolve(issue, redraw) {
  const releases = (issue.releases ?? []).map(({ release }) => release).filter(Boolean);
  return dialog({
    title: t('crash.resolveTitle'),
    text: t('crash.resolveText'),
    confirm: t('crash.resolve'),
    fields: [
      {
        name: 'inRelease',
        label: t('crash.resolvedIn'),
        type: 'select',
        options: [['', t('crash.newest')], ...releases.slice(0, 50).map((release) => [release, release])],
      },
    ],
    async submit({ inRelease }) {
      await run('resolveCrashIssue', { issueId: issue.issueId, ...(inRelease ? { inRelease } : {}) });
      toast(t('crash.resolved'), 'good', back('reopenCrashIssue', issue, redraw));
    },
  });
}

export async function ignore(issue, redraw) {
  return decide('ignoreCrashIssue', issue, 'crash.ignored', back('reopenCrashIssue', issue, redraw));
}

export async function reopen(issue, redraw) {
  // A resolved issue would be resolved in the newest version, which may be another one now.
  const undo = issue.status === 'ignored' ? back('ignoreCrashIssue', issue, redraw) : null;
  return decide('reopenCrashIssue', issue, 'crash.reopened', undo);
}

const back = (name, issue, redraw) => async () => {
  await run(name, { issueId: issue.issueId });
  await redraw();
};

async function decide(name, issue, done, undo) {
  try {
    await run(name, { issueId: issue.issueId });
    toast(t(done), 'good', undo);
    return true;
  } catch (error) {
    failure(error);
    return false;
  }
}
