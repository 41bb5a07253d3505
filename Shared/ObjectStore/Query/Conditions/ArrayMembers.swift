import ParseProtocol

/// Constraints on a member of the objects in an array: `{"items.size": "M"}` matches objects with an item of that size.
///
/// A constraint holds when it holds for any element. `$ne`, `$nin` and `$exists: false` negate their counterparts: they
/// hold when no element matches the counterpart. Null matches when an element lacks the member, and when no element has
/// it.
extension QuerySubject {
    /// Compiles one `$…` member of a constraint; nil for a member that only modifies another.
    func memberConstraint(
        _ name: String, _ raw: JSON, siblings: [String: JSON], _ compiler: inout ConditionCompiler
    ) throws -> String? {
        switch name {
        case "$eq": return try memberEquals(raw, &compiler)
        case "$ne": return "(\(try memberEquals(raw, &compiler))) IS NOT TRUE"
        case "$in": return try memberIsIn(list(name, raw), &compiler)
        case "$nin": return "(\(try memberIsIn(list(name, raw), &compiler))) IS NOT TRUE"
        case "$all": return try all(list(name, raw), &compiler)
        case "$exists":
            guard case .bool(let isWanted) = raw else { throw ParseError(.invalidJSON, "bad $exists value") }
            let exists = anyObject(try arrayMember("$exists", true, siblings, &compiler) ?? "TRUE")
            return isWanted ? exists : "NOT \(exists)"
        default: return try arrayMember(name, raw, siblings, &compiler).map(anyObject)
        }
    }

    private func arrayMember(
        _ name: String, _ raw: JSON, _ siblings: [String: JSON], _ compiler: inout ConditionCompiler
    ) throws -> String? {
        try member?.constraint(name, raw, siblings: siblings, &compiler)
    }

    func memberEquals(_ raw: JSON, _ compiler: inout ConditionCompiler) throws -> String {
        guard let member else { return "FALSE" }
        if raw.isNull { return memberIsMissing(member) }
        return anyObject(try member.equals(raw, &compiler))
    }

    func memberMatches(
        _ pattern: String, _ options: String, _ compiler: inout ConditionCompiler
    ) throws -> String {
        guard let member else { return "FALSE" }
        return anyObject(try member.matches(pattern, options, &compiler))
    }

    private func memberIsIn(_ values: [JSON], _ compiler: inout ConditionCompiler) throws -> String {
        guard let member else { return "FALSE" }
        let wanted = values.filter { !$0.isNull }
        var parts: [String] = []
        if !wanted.isEmpty { parts.append(anyObject(try member.isIn(wanted, &compiler))) }
        if wanted.count < values.count { parts.append(memberIsMissing(member)) }
        return ConditionCompiler.joined(parts.isEmpty ? ["FALSE"] : parts, " OR ")
    }

    private func memberIsMissing(_ member: QuerySubject) -> String {
        "(NOT \(anyObject("\(member.value) IS NOT NULL")) OR \(anyObject("\(member.value) IS NULL")))"
    }

    /// True when the condition on the document `a.value` holds for an object in the array. `CASE` prevents JSON
    /// functions from running on elements that are not JSON.
    private func anyObject(_ condition: String) -> String {
        """
        EXISTS(SELECT 1 FROM \(info.dialect.elements(of: path, in: document, as: "a")) \
        WHERE CASE WHEN \(info.dialect.elementType("a"))='object' THEN \(condition) END)
        """
    }

    /// The member itself, in the document `a.value`.
    private var member: QuerySubject? {
        guard case .elements(let inner) = kind else { return nil }
        return QuerySubject(untyped: inner, info, document: "a.value")
    }
}
