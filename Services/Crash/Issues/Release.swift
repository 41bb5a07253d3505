/// An app's version as SDKs send it: `shop@1.2.3-beta.1+45`, `com.example.shop@2.0+17`, `1.4`
/// (https://docs.sentry.io/product/releases/naming-releases/, https://semver.org section 11).
package struct Release: Hashable, Sendable {
    package let package: String
    private let numbers: [UInt64]
    private let preRelease: [Substring]
    /// A build number. Semantic versioning does not order by it, but app stores order the builds of one version by it.
    private let build: [Substring]

    /// Nil when it is not a version, for example a commit hash.
    package init?(_ text: String) {
        guard text.utf8.count <= 250 else { return nil }
        var rest = text[...]
        if let at = rest.lastIndex(of: "@") {
            package = String(rest[..<at])
            rest = rest[rest.index(after: at)...]
        } else {
            package = ""
        }
        if rest.first == "v" { rest = rest.dropFirst() }
        let plus = rest.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        build = plus.count > 1 ? plus[1].split(separator: ".") : []
        let dash = (plus.first ?? "").split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        preRelease = dash.count > 1 ? dash[1].split(separator: ".") : []
        let parts = (dash.first ?? "").split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { UInt64($0) }
        // A bare number may be a hash without letters, or a date, so it does not count as a version.
        guard parts.count == numbers.count, numbers.count >= (package.isEmpty ? 2 : 1), numbers.count <= 6 else {
            return nil
        }
        self.numbers = numbers
    }

    /// Whether this release is newer than `other`; nil when they are versions of different products.
    package func isNewer(than other: Release) -> Bool? {
        guard package == other.package else { return nil }
        for index in 0..<max(numbers.count, other.numbers.count) {
            let (a, b) = (Self.number(numbers, index), Self.number(other.numbers, index))
            if a != b { return a > b }
        }
        if preRelease != other.preRelease {
            // A version without a suffix is newer than one with a suffix.
            if preRelease.isEmpty || other.preRelease.isEmpty { return preRelease.isEmpty }
            return Self.isLater(preRelease, other.preRelease)
        }
        // An operator may name a version and an app a build of it. They count as equal, because their order is unknown.
        if build.isEmpty || other.build.isEmpty { return false }
        return Self.isLater(build, other.build)
    }

    private static func number(_ numbers: [UInt64], _ index: Int) -> UInt64 {
        numbers.indices.contains(index) ? numbers[index] : 0
    }

    /// Numbers are compared by value and come before words; words are compared by their letters. If one list is a
    /// prefix of the other, the longer one is later.
    private static func isLater(_ a: [Substring], _ b: [Substring]) -> Bool {
        for (x, y) in zip(a, b) where x != y {
            switch (UInt64(x), UInt64(y)) {
            case (let m?, let n?): if m != n { return m > n }
            case (nil, nil): return x > y
            case (let m, _): return m == nil
            }
        }
        return a.count > b.count
    }
}

extension Release {
    /// The newest of releases in order of appearance: by version where two can be compared, otherwise the later one.
    /// Empty when there is none.
    package static func newest(of releases: [String]) -> String {
        releases.reduce("") { newest, next in
            guard let a = Release(newest), let b = Release(next), let isNewer = b.isNewer(than: a) else { return next }
            return isNewer ? next : newest
        }
    }
}
