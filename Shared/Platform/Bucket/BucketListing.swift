import Foundation

/// A page of `ListObjectsV2` (docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html).
package struct BucketListing: Sendable, Equatable {
    package let keys: [String]
    /// Whether more follow.
    package let isTruncated: Bool

    /// Nil for another document, such as a proxy's page.
    package init?(_ body: [UInt8]) {
        let text = Data(body)
        guard text.range(of: Data("<ListBucketResult".utf8)) != nil else { return nil }
        let (open, close) = (Data("<Key>".utf8), Data("</Key>".utf8))
        var keys: [String] = []
        var rest = text
        while let start = rest.range(of: open), let end = rest[start.upperBound...].range(of: close) {
            keys.append(Self.plain(rest[start.upperBound..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        self.keys = keys
        isTruncated = text.range(of: Data("<IsTruncated>true</IsTruncated>".utf8)) != nil
    }

    private static let entities = ["lt": "<", "gt": ">", "quot": "\"", "apos": "'", "amp": "&"]

    private static func plain(_ escaped: Data) -> String {
        let text = String(decoding: escaped, as: UTF8.self)
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        // A combining mark may follow.
        return text.replacing(#/&(#?[A-Za-z0-9]+);/#.matchingSemantics(.unicodeScalar)) {
            character(String($0.output.1)) ?? String($0.output.0)
        }
    }

    private static func character(_ entity: String) -> String? {
        guard entity.hasPrefix("#") else { return entities[entity] }
        let isHex = entity.hasPrefix("#x")
        guard let number = UInt32(entity.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10) else { return nil }
        return Unicode.Scalar(number).map { String($0) }
    }
}
