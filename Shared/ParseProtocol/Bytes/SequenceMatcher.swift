/// Finds a sequence in another one in linear time (Knuth, Morris and Pratt).
package struct SequenceMatcher<Element: Equatable & Sendable>: Sendable {
    @usableFromInline package let sought: [Element]
    /// For each prefix of the sequence, the length of its longest proper prefix that is also its suffix.
    @usableFromInline package let borders: [Int]

    @inlinable package init(_ sought: [Element]) {
        var borders = Array(repeating: 0, count: sought.count)
        var length = 0
        for place in sought.indices.dropFirst() {
            while length > 0, sought[place] != sought[length] { length = borders[length - 1] }
            if sought[place] == sought[length] { length += 1 }
            borders[place] = length
        }
        (self.sought, self.borders) = (sought, borders)
    }

    /// Whether the sequence occurs in another one. An empty sequence occurs in none.
    @inlinable package func isIn(_ other: some Sequence<Element>) -> Bool {
        guard !sought.isEmpty else { return false }
        var length = 0
        for element in other {
            while length > 0, element != sought[length] { length = borders[length - 1] }
            if element == sought[length] { length += 1 }
            if length == sought.count { return true }
        }
        return false
    }
}
