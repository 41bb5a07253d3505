import ParseProtocol

/// An issue's status, set by the operator and changed by new events. No I/O.
package enum IssueStatus: String, CaseIterable, Sendable {
    case unresolved
    /// Fixed after the release stored with it.
    case resolved
    /// Resolved before, and a newer release has it again.
    case regression
    /// Counted, but never reported again.
    case ignored

    /// The release data of an event that decides its effect.
    package struct Sighting: Sendable {
        let release: String
        /// When the project first reported the release.
        let releaseFirstSeen: Timestamp

        package init(release: String, releaseFirstSeen: Timestamp) {
            self.release = release
            self.releaseFirstSeen = releaseFirstSeen
        }
    }

    /// The status after an event.
    /// - Parameters:
    ///   - resolvedIn: the newest release that may still have it; empty when none was known.
    ///   - resolvedAt: when it was resolved.
    package func after(_ sighting: Sighting, resolvedIn: String, resolvedAt: Timestamp) -> IssueStatus {
        guard self == .resolved else { return self }
        return Self.isNewer(sighting, than: resolvedIn, resolvedAt: resolvedAt) ? .regression : .resolved
    }

    private static func isNewer(_ sighting: Sighting, than resolvedIn: String, resolvedAt: Timestamp) -> Bool {
        // There is no release to compare: the event arrived after the issue was resolved.
        if resolvedIn.isEmpty { return true }
        // Old copies of an app remain in use for years; an event without a release may come from one.
        if sighting.release.isEmpty || sighting.release == resolvedIn { return false }
        if let seen = Release(sighting.release), let fixed = Release(resolvedIn),
            let isNewer = seen.isNewer(than: fixed)
        {
            return isNewer
        }
        // Commit hashes and names of other apps can only be ordered by their first appearance.
        return sighting.releaseFirstSeen > resolvedAt
    }
}
