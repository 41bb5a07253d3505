import ParseProtocol

/// The operator's view of an issue, and what a new event changes about it. No I/O.
package enum IssueStatus: String, CaseIterable, Sendable {
    case unresolved
    /// Said to be fixed after the release that is kept with it.
    case resolved
    /// It was resolved, and a newer release brought it back.
    case regression
    /// Counted, never brought up again.
    case ignored

    /// An event's release, as far as it matters here.
    package struct Sighting: Sendable {
        let release: String
        /// The time at which the project reported the release for the first time.
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
        // Nothing to compare: it came after somebody said it was gone.
        if resolvedIn.isEmpty { return true }
        // Old copies of an app live on for years; one that does not say what it is may be among them.
        if sighting.release.isEmpty || sighting.release == resolvedIn { return false }
        if let seen = Release(sighting.release), let fixed = Release(resolvedIn),
            let isNewer = seen.isNewer(than: fixed)
        {
            return isNewer
        }
        // Hashes of commits and names of other apps have no order but that of their appearance.
        return sighting.releaseFirstSeen > resolvedAt
    }
}
