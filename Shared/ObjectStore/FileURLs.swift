import ParseProtocol

extension JSON {
    /// Whether a File is here or in anything below.
    var holdsFile: Bool {
        switch self {
        case .array(let elements): elements.contains(where: \.holdsFile)
        case .object(let members): wireType == "File" || members.values.contains(where: \.holdsFile)
        default: false
        }
    }

    /// Adds the url of every File here and below, by the File's name.
    func collectFileURLs(into urls: inout [JSON: JSON]) {
        switch self {
        case .array(let elements): for element in elements { element.collectFileURLs(into: &urls) }
        case .object(let members) where wireType == "File":
            if let name = members["name"], let url = members["url"] { urls[name] = url }
        case .object(let members): for member in members.values { member.collectFileURLs(into: &urls) }
        default: break
        }
    }

    /// The same value where every File has the url known for its name, or none.
    func withFileURLs(_ urls: [JSON: JSON]) -> JSON {
        switch self {
        case .array(let elements): return .array(elements.map { $0.withFileURLs(urls) })
        case .object(var members) where wireType == "File":
            members["url"] = members["name"].flatMap { urls[$0] }
            return .object(members)
        case .object(let members): return .object(members.mapValues { $0.withFileURLs(urls) })
        default: return self
        }
    }
}
