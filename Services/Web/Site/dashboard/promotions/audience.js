// Converts a promotion's audience between the form and its stored form. No requests.

import { beginning } from '../../shared/format.js';

/** The kinds of devices with an app. */
const platforms = ['ios', 'android'];

/**
 * The form's values for an audience, `{ kind, channels, platform, language, version, more }`; the kind is `all`,
 * `channels` or `some`. Conditions without a field in the form go into `more`, as JSON.
 */
export function readAudience(audience) {
  const empty = { kind: 'all', channels: '', platform: '', language: '', version: '', more: '' };
  if (!audience || typeof audience !== 'object') return empty;
  if (audience.channels !== undefined) {
    return { ...empty, kind: 'channels', channels: [audience.channels].flat().join(', ') };
  }
  const { deviceType, localeIdentifier, appVersion, ...rest } = audience.where ?? {};
  const values = { ...empty, kind: 'some' };
  if (platforms.includes(deviceType)) values.platform = deviceType;
  else if (deviceType !== undefined) rest.deviceType = deviceType;
  const language = /^\^([a-z]{2,3})$/.exec(localeIdentifier?.$regex ?? '')?.[1];
  if (language && Object.keys(localeIdentifier).length === 1) values.language = language;
  else if (localeIdentifier !== undefined) rest.localeIdentifier = localeIdentifier;
  if (typeof appVersion === 'string') values.version = appVersion;
  else if (appVersion !== undefined) rest.appVersion = appVersion;
  if (Object.keys(rest).length) values.more = JSON.stringify(rest, null, 1);
  return values;
}

/**
 * The audience from a form's values; null for all devices.
 * @throws Error with the `key` of a text, for an invalid form.
 */
export function writeAudience({ kind, channels, platform, language, version, more }) {
  if (kind === 'all') return null;
  if (kind === 'channels') {
    const names = channels
      .split(/[\s,;]+/)
      .filter(Boolean)
      .filter((name, index, all) => all.indexOf(name) === index);
    if (!names.length) throw refusal('audience.noChannel');
    const wrong = names.find((name) => !/^[A-Za-z]\w*$/.test(name));
    if (wrong) throw refusal('audience.badChannel', { name: wrong });
    return { channels: names };
  }
  const where = more.trim() ? conditionOf(more) : {};
  if (platform) where.deviceType = platform;
  if (language.trim()) {
    const short = language.trim().toLowerCase();
    if (!/^[a-z]{2,3}$/.test(short)) throw refusal('audience.badLanguage');
    where.localeIdentifier = { $regex: `^${short}` };
  }
  if (version.trim()) where.appVersion = version.trim();
  // An empty condition would match all devices, which contradicts the kind `some`.
  if (!Object.keys(where).length) throw refusal('audience.noCondition');
  return { where };
}

function conditionOf(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw refusal('audience.badJSON');
  }
  if (!value || typeof value !== 'object' || Array.isArray(value)) throw refusal('audience.badJSON');
  return value;
}

function refusal(key, values) {
  return Object.assign(new Error(key), { key, values });
}

/** A short description of an audience: the key of a text with its values. */
export function audienceWords(audience) {
  const { kind, channels, platform, language, version, more } = readAudience(audience);
  if (kind === 'all') return { key: 'audience.all', values: {} };
  const parts = kind === 'channels' ? [channels] : [platform, language, version, more.replace(/\s+/g, ' ')];
  return { key: `audience.${kind}Words`, values: { words: beginning(parts.filter(Boolean).join(' · '), 120) } };
}
