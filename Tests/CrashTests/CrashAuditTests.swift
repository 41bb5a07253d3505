import CrashService
import Testing

/// What the audit log names as the subject of an operator's change.
@Suite struct CrashAuditTests {
    @Test func eachChangeNamesItsSubject() {
        #expect(CrashFunctions.subject(["issueId": "i1"], ["issueId": "i1", "projectId": "1"]) == "i1")
        #expect(CrashFunctions.subject(["name": "App"], ["projectId": "2", "key": "0a"]) == "2")
        #expect(CrashFunctions.subject(["key": "0a"], ["disabled": true]) == "0a")
    }
}
